"""Measure the cells of a benchmark: let each run once, measure in rounds, summarise."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from modeldyno.core.errors import Cancelled, ModeldynoError, NotYet, StorageFailed, UserError
from modeldyno.core.hosts import HostWeather, tool_version
from modeldyno.core.jobs import Cells, Progress, Started, Unit
from modeldyno.core.models import ModelFacts
from modeldyno.core.names import name_of_file
from modeldyno.core.results import BenchmarkResult, CellResult, Standings
from modeldyno.core.sessions import Session, duration_s
from modeldyno.core.specs import BenchmarkSpec, CellSpec
from modeldyno.core.visible import visible
from modeldyno.inputs.decoders import phase_note, phases
from modeldyno.inputs.model_overrides import refuse_needless_overrides
from modeldyno.inputs.open_axes import find_open_axes
from modeldyno.inputs.plans import Batch, resolve_batch, with_batch_of_one
from modeldyno.jobs.cells import Cell, MeasuredUnit
from modeldyno.jobs.contract import comparable_cell, set_mismatches
from modeldyno.jobs.preparation import TrialWorkers
from modeldyno.jobs.protocol import Context
from modeldyno.jobs.rounds import Rounds, planned_units
from modeldyno.worker.limits import WorkerLimits
from modeldyno.worker.monitor import RunLog


def run_benchmark(spec: BenchmarkSpec, context: Context) -> BenchmarkResult:
    if spec.dataset is not None:
        raise NotYet(
            "Accuracy cannot be measured yet",
            why="this version reads no datasets",
            fix="Choose the mode performance; accuracy comes with datasets in a later version",
        )
    start = time.monotonic()
    cells: list[Cell] = []
    facts, copy = _prepare(spec, cells, context)
    from modeldyno.measure import host

    before = host.read_load()
    _count_time_so_far(cells, time.monotonic() - start)
    _restore_units(cells, context.earlier)
    stopped: ModeldynoError | None = None
    standings: tuple[Standings, ...] = ()
    try:
        standings = Rounds(spec, cells, context).run()
    except (Cancelled, StorageFailed) as error:
        stopped = error
    if isinstance(stopped, Cancelled) and not any(cell.units or cell.error for cell in cells):
        raise stopped  # there is nothing to show
    set_mismatches(cells)
    meanwhile = host.weather(before, host.read_load())
    stop_error = _model_error(facts, copy) or stopped
    weather_of_cells = _meaningful_weather(meanwhile, cells)
    results = tuple(cell.result(facts, weather_of_cells, stop_error) for cell in cells)
    trusted = tuple(_reliable_standings(each, results) for each in standings)
    result = BenchmarkResult(
        run_id=context.folder.id,
        created_at=datetime.now(UTC).isoformat(timespec="seconds"),
        tool_version=tool_version(),
        spec=spec,
        model=facts,
        host=context.host(),
        weather=meanwhile,
        cells=results,
        standings=trusted[0] if len(trusted) == 1 else {},
        interrupted=isinstance(stopped, Cancelled),
        standings_by_workload=tuple(filter(None, trusted)) if len(trusted) > 1 else (),
    )
    # Imported once everything is measured: it loads what no measurement needs.
    from modeldyno.jobs.machine_speed import with_machine_speed
    from modeldyno.jobs.repeats import with_repeats

    return with_machine_speed(with_repeats(result, context.folder), context.folder)


def _meaningful_weather(weather: HostWeather, cells: Sequence[Cell]) -> HostWeather:
    """If we ran more threads than CPUs, waiting threads say nothing about other programs."""
    from modeldyno.measure.cpus import allowed_cpus

    most = max(cell.spec.cores * cell.spec.instances for cell in cells)
    return replace(weather, pressure=None) if most > len(allowed_cpus()) else weather


def _reliable_standings(standings: Standings, cells: Sequence[CellResult]) -> Standings:
    """Without leaders whose number is unusable or belongs to another kind of work. A cell that lost
    did so in the rounds that both were measured in."""
    unusable = {
        number
        for number, cell in enumerate(cells)
        if cell.mismatches
        or (cell.measurement is not None and cell.measurement.noise == "unusable")
    }
    return {
        objective: standing
        for objective, standing in standings.items()
        if standing.leader not in unusable
    }


def _restore_units(cells: list[Cell], units: Sequence[Unit]) -> None:
    """Take over what an earlier part of this run has measured."""
    for unit in units:
        cell = cells[unit.cell]
        if isinstance(unit.measured, Session):
            wall_s = duration_s(unit.measured)
            cell.units.append(MeasuredUnit(unit.process, unit.round, unit.measured, wall_s))
            cell.used_s += wall_s


def _count_time_so_far(cells: Sequence[Cell], seconds: float) -> None:
    """Reading the model was for all cells alike, each trial for one. The rest of ``seconds``, such
    as ending the trials' processes, is announced with it; it uses no budget."""
    shared_s = seconds - sum(cell.trial_s for cell in cells)
    for cell in cells:
        cell.before_s = shared_s / len(cells) + cell.trial_s


def _prepare(spec: BenchmarkSpec, cells: list[Cell], context: Context) -> tuple[ModelFacts, Path]:
    """Read the model and let each cell run once; a cell that cannot gets its error."""
    start = time.monotonic()
    with closing(TrialWorkers(spec, spec.cells, context)) as trials:
        facts, copy = trials.inspect(spec.model)
        reading_s = time.monotonic() - start
        refuse_needless_overrides(spec.model, facts)
        earlier = context.folder.cells() if context.earlier else ()
        cells[:] = fitting_cells(spec, facts)
        if earlier:
            _keep_earlier(cells, earlier)
        units = planned_units(spec, len(cells))
        context.send(Started(name_of_file(facts.path), units, facts.sha256))
        _announce(cells, context)
        notices = _Notices(context, units)
        for text in _differences_to_request(spec, facts):
            notices.send(text)
        for cell in cells:
            context.send(Progress(0, units, f"trying {cell.name}"))
            _try_cell(spec, cell, comparable_cell(cell, cells), facts, copy, trials)
            cell.check_s = trials.copy_s / len(cells)
            cell.used_s = reading_s / len(cells) + cell.trial_s
            if cell.batch_size == 1 != cell.spec.batch_size:
                refused = with_batch_of_one(Batch(cell.spec.batch_size))
                notices.send(refused.notice if refused.note in cell.notes else "")
            _log_notes(cell, context)
            if cell.error is not None:
                trials.close()
    if all(isinstance(cell.error, UserError) for cell in cells):
        raise cells[0].error or AssertionError
    if not earlier and _drop_repeated_cells(cells, lambda cell: cell.batch_size):
        _announce(cells, context)
    set_mismatches(cells)
    return facts, copy


def _with_phases(spec: BenchmarkSpec, facts: ModelFacts) -> list[Cell]:
    """A cell of a decoder with a cache becomes one for the prefill and one for a decoding step."""
    made: list[Cell] = []
    for cell in spec.configurations():
        sizes = _phases_of(cell, spec, facts)
        is_split = sizes != (cell.dims,)
        for dims in sizes:
            phase = Cell(len(made), replace(cell, dims=dims))
            phase.note(phase_note(sizes) if is_split else "")
            made.append(phase)
    return made


def _phases_of(
    cell: CellSpec, spec: BenchmarkSpec, facts: ModelFacts
) -> tuple[dict[str, int], ...]:
    return (cell.dims,) if spec.model.data else phases(facts.inputs, cell.dims)


def fitting_cells(spec: BenchmarkSpec, facts: ModelFacts) -> list[Cell]:
    """The cells that this model has of those that were requested, as far as its inputs say."""
    cells = _with_phases(spec, facts)
    axes = find_open_axes(facts.inputs)
    batches = {
        cell.number: resolve_batch(facts.inputs, axes, cell.spec.batch_size, cell.spec.dims)
        for cell in cells
    }
    for cell in cells:
        cell.note(batches[cell.number].note)
    _drop_repeated_cells(cells, lambda cell: batches[cell.number].size)
    return cells


def _differences_to_request(spec: BenchmarkSpec, facts: ModelFacts) -> Iterator[str]:
    """What this model does not do as requested, in a sentence each, with what to do about it."""
    axes = find_open_axes(facts.inputs)
    for cell in spec.configurations():
        sizes = _phases_of(cell, spec, facts)
        if sizes != (cell.dims,):
            yield phase_note(sizes)
        yield resolve_batch(facts.inputs, axes, cell.batch_size, cell.dims).notice


class _Notices:
    """Sends each once."""

    def __init__(self, context: Context, units: int) -> None:
        self._context = context
        self._units = units
        self._sent = {""}

    def send(self, text: str) -> None:
        if text not in self._sent:
            self._sent.add(text)
            self._context.send(Progress(0, self._units, "trying it", notice=text))


def _keep_earlier(cells: list[Cell], earlier: Sequence[CellSpec]) -> None:
    """A resumed run has the cells that it had: its units are numbered by them."""
    by_spec = {repr(cell.spec): cell for cell in cells}
    cells[:] = [by_spec.get(repr(spec)) or Cell(0, spec) for spec in earlier]
    _number(cells)


def _announce(cells: Sequence[Cell], context: Context) -> None:
    context.send(Cells(tuple(cell.spec for cell in cells)))


def _log_notes(cell: Cell, context: Context) -> None:
    """Notes belong in the log too, e.g. that the batch size is not the requested one."""
    if cell.notes:
        lines = "".join(f"{visible(f'{cell.name}: {note}')}\n" for note in cell.notes)
        with closing(RunLog(context.folder.log, WorkerLimits().log_bytes)) as log:
            log.add(lines.encode())


def _drop_repeated_cells(cells: list[Cell], batch_of: Callable[[Cell], int]) -> bool:
    """With a fixed batch, several cells are the same: keep the first, with the others' notes.

    True if there were any.
    """
    before = len(cells)
    kept: dict[str, Cell] = {}
    for cell in list(cells):
        same = kept.setdefault(repr(replace(cell.spec, batch_size=batch_of(cell))), cell)
        if same is not cell and same.error is None and cell.error is None:
            same.notes = tuple(dict.fromkeys((*same.notes, *cell.notes)))
            cells.remove(cell)
    _number(cells)
    return len(cells) < before


def _number(cells: Sequence[Cell]) -> None:
    for number, cell in enumerate(cells):
        cell.number = number


def _try_cell(
    spec: BenchmarkSpec,
    cell: Cell,
    first: Cell | None,
    facts: ModelFacts,
    copy: Path,
    trials: TrialWorkers,
) -> None:
    start = time.monotonic()
    deadline, name = start + spec.timeout_s, str(cell.number)
    try:
        against = first.prepared if first else None
        cell.prepared = trials.prepare(spec.model, facts, copy, cell.spec, name, deadline, against)
    except Cancelled:
        raise
    except ModeldynoError as error:
        cell.error = error
    else:
        for note in cell.prepared.notes:
            cell.note(note)
    cell.sandbox, cell.start_s = trials.sandbox, trials.start_s
    cell.trial_s = time.monotonic() - start


def _model_error(facts: ModelFacts, copy: Path) -> ModeldynoError | None:
    from modeldyno.store.models import check_unchanged

    try:
        check_unchanged(facts, copy)
    except ModeldynoError as error:
        return error
    return None
