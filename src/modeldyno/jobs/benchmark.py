"""Measure the cells of a benchmark.

Processes come in rounds: each round gives every unfinished cell a fresh process and some
sessions, in random order, so that a machine that drifts does so under all cells alike.
"""

from __future__ import annotations

import random
import time
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from modeldyno.core.errors import (
    Cancelled,
    ModelChanged,
    ModeldynoError,
    StorageFailed,
    UserError,
    WrongOutput,
)
from modeldyno.core.hosts import HostWeather
from modeldyno.core.jobs import Progress, Started, Unit
from modeldyno.core.models import ModelFacts
from modeldyno.core.results import BenchmarkResult, CellResult, CellStatus, Failure, StopReason
from modeldyno.core.sandbox import SandboxReport
from modeldyno.core.sessions import Session, SessionFacts, SessionPlan
from modeldyno.core.specs import BenchmarkSpec, CellSpec
from modeldyno.jobs.inspection import inspect
from modeldyno.jobs.preparation import Prepared, prepare
from modeldyno.jobs.protocol import Context
from modeldyno.worker.launch import Worker, launched
from modeldyno.worker.messages import MeasureSession, SessionMeasured


@dataclass
class _Cell:
    """How far one cell has come."""

    number: int
    spec: CellSpec
    prepared: Prepared | None = None
    units: list[tuple[int, Session]] = field(default_factory=list)
    used_s: float = 0.0  # of the budget and of the timeout, process starts included
    stop_reason: StopReason | None = None
    error: ModeldynoError | None = None
    notes: tuple[str, ...] = ()
    sandbox: SandboxReport | None = None

    @property
    def is_over(self) -> bool:
        return self.stop_reason is not None or self.error is not None

    @property
    def sessions(self) -> list[Session]:
        return [session for _, session in self.units]


def run_benchmark(spec: BenchmarkSpec, context: Context) -> BenchmarkResult:
    cells = [_Cell(number, cell) for number, cell in enumerate(spec.cells)]
    facts, copy = _prepare(spec, cells, context)
    from modeldyno.measure import host

    before = host.read()
    stopped: ModeldynoError | None = None
    try:
        _measure(spec, cells, context)
    except (Cancelled, StorageFailed) as error:
        stopped = error
    weather = host.weather(before, host.read())
    changed = _changed(facts, copy)
    return BenchmarkResult(
        run_id=context.folder.id,
        created_at=datetime.now(UTC).isoformat(timespec="seconds"),
        tool_version=version("modeldyno"),
        spec=spec,
        model=facts,
        host=host.facts(),
        weather=weather,
        cells=tuple(_result(cell, facts, weather, changed or stopped) for cell in cells),
        interrupted=isinstance(stopped, Cancelled),
    )


# ---------------------------------------------------------------- before


def _prepare(spec: BenchmarkSpec, cells: list[_Cell], context: Context) -> tuple[ModelFacts, Path]:
    """Read the model and let each cell run once; a cell that cannot says so, the others go on."""
    surroundings = context.surroundings(
        spec.model,
        memory_limit_bytes=spec.memory_limit_bytes,
        inspecting=True,
        sandbox=cells[0].spec.sandbox,
    )
    with ExitStack() as workers:
        worker = workers.enter_context(launched(surroundings))
        facts = inspect(worker, spec.model, context, spec.timeout_s)
        from modeldyno.store.models import copy_privately

        copy = copy_privately(facts, context.folder.model)
        context.say(Started(facts.path, _planned(spec, cells)))
        for cell in cells:
            context.say(Progress(0, _planned(spec, cells), f"trying {_name(cell.spec)}"))
            _try(spec, cell, facts, copy, worker, context)
            if cell.error is not None:  # whatever it was, the next cell gets a fresh worker
                worker.close()
                worker = workers.enter_context(launched(surroundings))
    if all(isinstance(cell.error, UserError) for cell in cells):
        raise cells[0].error or AssertionError
    return facts, copy


def _try(
    spec: BenchmarkSpec,
    cell: _Cell,
    facts: ModelFacts,
    copy: Path,
    worker: Worker,
    context: Context,
) -> None:
    start = time.monotonic()
    deadline = start + spec.timeout_s
    try:
        cell.prepared = prepare(
            worker,
            spec.model,
            facts,
            copy,
            cell.spec,
            str(cell.number),
            spec.seed,
            context,
            deadline,
        )
    except Cancelled:
        raise
    except ModeldynoError as error:
        cell.error = error
    else:
        cell.notes = cell.prepared.notes
    cell.sandbox = worker.sandbox
    cell.used_s = time.monotonic() - start


# ---------------------------------------------------------------- measuring


def _measure(spec: BenchmarkSpec, cells: list[_Cell], context: Context) -> None:
    order = random.Random(spec.seed)  # noqa: S311 - an order of measurement, not a secret
    for process in range(spec.budget.processes):
        open_cells = [cell for cell in cells if not cell.is_over]
        order.shuffle(open_cells)
        for cell in open_cells:
            is_last = process + 1 == spec.budget.processes
            _run_process(spec, cell, process, is_last, cells, context)


def _run_process(
    spec: BenchmarkSpec,
    cell: _Cell,
    process: int,
    is_last: bool,
    cells: list[_Cell],
    context: Context,
) -> None:
    """Sessions of one cell in one fresh process, until its share is done or the cell is."""
    from modeldyno.measure.host import quietest_cpus

    prepared = cell.prepared
    if prepared is None:
        return
    start, used_before = time.monotonic(), cell.used_s
    deadline = start + spec.timeout_s - cell.used_s
    target = replace(prepared.target, cpus=quietest_cpus(cell.spec.cores))
    surroundings = context.surroundings(
        spec.model,
        threads=cell.spec.cores,
        memory_limit_bytes=spec.memory_limit_bytes,
        sandbox=cell.spec.sandbox,
    )
    try:
        with launched(surroundings) as worker:
            for count in range(1, 1_000_000):
                command = _command(spec, replace(prepared, target=target), cell, process)
                reply = worker.ask(command, SessionMeasured, deadline, context.stop)
                cell.sandbox = worker.sandbox
                _accept(reply.session, cell, process, context)
                cell.used_s = used_before + time.monotonic() - start
                cell.stop_reason = _decide(spec, cell)
                context.say(_progress(spec, cell, cells))
                if cell.is_over or (count >= spec.budget.sessions_per_process and not is_last):
                    return
    except (Cancelled, StorageFailed):
        raise
    except ModeldynoError as error:
        cell.error = error


def _command(spec: BenchmarkSpec, prepared: Prepared, cell: _Cell, process: int) -> MeasureSession:
    budget = spec.budget
    plan = SessionPlan(
        min_time_s=budget.session_s,
        max_time_s=max(budget.session_s, 0.4 * budget.seconds),
        warmup_limit_s=min(2.0, 0.2 * budget.seconds),
        warmup_calls=spec.warmup_calls,
        calls_per_sample=1 if spec.per_call else None,
        iterations=spec.iterations,
    )
    padding = hash((spec.seed, cell.number, process, len(cell.units)))
    return MeasureSession(
        target=prepared.target,
        inputs=prepared.inputs,
        contract=cell.spec.contract,
        plan=plan,
        padding_seed=padding,
        reference=prepared.reference,
    )


def _accept(session: Session, cell: _Cell, process: int, context: Context) -> None:
    """Keep a session, unless its outputs are wrong: a wrong answer has no latency."""
    if session.parity is not None and not session.parity.agrees:
        raise WrongOutput(
            "Two sessions of this cell computed different results",
            why=f"outputs differ by {session.parity.max_rel_error:.2g} of their range",
            fix="Report this to the engine's makers; a wrong answer has no latency",
        )
    context.say(Unit(cell.number, process, session))
    cell.units.append((process, session))


def _decide(spec: BenchmarkSpec, cell: _Cell) -> StopReason | None:
    if spec.iterations is not None:
        return "fixed"
    from modeldyno.measure.benchmark import floors_and_typicals
    from modeldyno.measure.stopping import decide

    floors, typicals = floors_and_typicals(cell.sessions)
    return decide(floors, typicals, spec.budget, cell.used_s)


# ---------------------------------------------------------------- progress


def _planned(spec: BenchmarkSpec, cells: list[_Cell]) -> int:
    if spec.iterations is not None:
        return len(cells)
    return len(cells) * spec.budget.processes * spec.budget.sessions_per_process


def _progress(spec: BenchmarkSpec, cell: _Cell, cells: list[_Cell]) -> Progress:
    """Units done of units planned; cells that stop early or go on longer move the plan."""
    from modeldyno.measure.benchmark import floors_and_typicals
    from modeldyno.measure.stopping import relative_width

    each = _planned(spec, [cell])
    planned = sum(len(c.units) if c.is_over else max(each, len(c.units) + 1) for c in cells)
    _, typicals = floors_and_typicals(cell.sessions)
    left = [max(0.0, spec.budget.seconds - c.used_s) for c in cells if not c.is_over]
    return Progress(
        units_done=sum(len(c.units) for c in cells),
        units_planned=planned,
        doing=_name(cell.spec),
        estimate_s=sorted(typicals)[len(typicals) // 2],
        relative_half_width=relative_width(typicals) if len(typicals) > 1 else None,
        remaining_s=sum(left),
    )


def _name(cell: CellSpec) -> str:
    cores = "1 core" if cell.cores == 1 else f"{cell.cores} cores"
    return f"{cores} · batch {cell.batch_size}"


# ---------------------------------------------------------------- after


def _changed(facts: ModelFacts, copy: Path) -> ModeldynoError | None:
    from modeldyno.store.models import check_unchanged

    try:
        check_unchanged(facts, copy)
    except ModeldynoError as error:
        return error
    return None


def _result(
    cell: _Cell, facts: ModelFacts, weather: HostWeather, stopped: ModeldynoError | None
) -> CellResult:
    from modeldyno.measure.benchmark import FEWEST_SESSIONS, MeasuredSession, summarise

    error = cell.error
    if error is None and (cell.stop_reason is None or isinstance(stopped, ModelChanged)):
        error = stopped
    batch = cell.prepared.batch_size if cell.prepared else cell.spec.batch_size
    measurement = None
    if cell.stop_reason is not None or len(cell.units) >= FEWEST_SESSIONS:
        units = [MeasuredSession(process, session) for process, session in cell.units]
        measurement = summarise(units, batch, cell.stop_reason or "aborted", weather)
    return CellResult(
        model=facts.path,
        spec=cell.spec,
        status=_status(error, measured=measurement is not None),
        batch_size=batch,
        facts=_facts(cell),
        measurement=measurement,
        error=Failure.of(error) if error else None,
        notes=cell.notes,
        sandbox=cell.sandbox,
    )


def _status(error: ModeldynoError | None, measured: bool) -> CellStatus:
    if error is None:
        return "done"
    return "partial" if measured and isinstance(error, Cancelled) else "failed"


def _facts(cell: _Cell) -> SessionFacts | None:
    """What the measured sessions said of themselves, with the precision found beforehand."""
    if cell.prepared is None:
        return None
    if not cell.units:
        return cell.prepared.facts
    examined = cell.prepared.facts
    return replace(
        cell.sessions[0].facts,
        precision=examined.precision,
        nodes_by_provider=examined.nodes_by_provider,
    )
