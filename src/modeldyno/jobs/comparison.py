"""Compare two cells: pairs of sessions in alternation, over several processes."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from modeldyno.core.errors import Cancelled
from modeldyno.core.inputs import InputPlan
from modeldyno.core.jobs import Progress, Started, Unit
from modeldyno.core.likeness import Party, parties, tells_more
from modeldyno.core.models import ModelFacts
from modeldyno.core.results import ComparisonResult, SideResult
from modeldyno.core.sandbox import Sandboxing, SandboxReport
from modeldyno.core.sessions import (
    Calibration,
    Pair,
    PairPlan,
    SessionFacts,
    call_note,
    examined_as,
    took_s,
)
from modeldyno.core.specs import ComparisonSpec, SideSpec
from modeldyno.core.stated import refuse_needless
from modeldyno.core.versions import tool_version
from modeldyno.jobs.inspection import inspect
from modeldyno.jobs.leases import wait_note
from modeldyno.jobs.pairing import FEWEST_PROCESSES, Reports, Seat, seated
from modeldyno.jobs.preparation import Prepared, prepare
from modeldyno.jobs.protocol import Context
from modeldyno.jobs.trying import Trying
from modeldyno.store.models import check_unchanged
from modeldyno.worker.messages import Side

if TYPE_CHECKING:
    from modeldyno.measure.compare import Judgement, PairUnit, RunningRatio

FEWEST_PAIRS = 2  # below it there is no interval at all
SPINNING_BLOCK_S = 0.2  # a spinning pool needs long blocks …
SPINNING_GAP_S = 0.05  # … and time to fall asleep before the other side's turn


@dataclass(frozen=True)
class _ReadySide:
    spec: SideSpec
    party: Party
    prepared: Prepared

    @property
    def model(self) -> ModelFacts:
        return self.party.facts

    def command(self, cpus: tuple[int, ...]) -> Side:
        prepared = self.prepared
        return Side(
            target=replace(prepared.target, cpus=cpus),
            inputs=prepared.inputs,
            contract=prepared.cell.contract,
        )

    @property
    def sandbox(self) -> Sandboxing:
        return self.spec.cell.sandbox

    @property
    def spins(self) -> bool:
        facts = self.prepared.facts
        return bool(facts.spinning) and (facts.threads or 1) > 1


@dataclass
class _Found:
    """What has been measured so far."""

    units: list[PairUnit] = field(default_factory=list)
    earlier_s: float = 0.0  # of the time budget: what an interrupted part of this run has used
    ratio: RunningRatio | None = None
    sandboxes: Reports = (None, None)
    note: str = ""  # about the cores it was measured on
    waited_s: float = 0.0  # for cores


def run_comparison(spec: ComparisonSpec, context: Context) -> ComparisonResult:
    start = time.monotonic()
    a, b = _prepare(spec, context, start)
    from modeldyno.measure import weather
    from modeldyno.measure.compare import judge

    before = weather.read()
    found = _recall(context.earlier)
    interrupted = False
    try:
        _measure(spec, a, b, found, start, context)
    except Cancelled:
        interrupted = True
    units = found.units
    if len(units) < FEWEST_PAIRS:
        raise Cancelled("Stopped before there was anything to compare")
    for side in (a, b):
        check_unchanged(side.model, side.prepared.copy or Path(side.prepared.target.model))
    items = a.prepared.items, b.prepared.items
    meanwhile = weather.weather(before, weather.read())
    judgement = judge(units, spec.margin, items, meanwhile, _level(spec, len(units)))
    sides = (
        _side_result(a, judgement, 0, units[0].pair.a.facts, found.sandboxes[0]),
        _side_result(b, judgement, 1, units[0].pair.b.facts, found.sandboxes[1]),
    )
    return ComparisonResult(
        run_id=context.folder.id,
        created_at=datetime.now(UTC).isoformat(timespec="seconds"),
        tool_version=tool_version(),
        spec=spec,
        verdict=judgement.verdict,
        ratio=judgement.ratio,
        statistic=judgement.statistic,
        a=sides[0],
        b=sides[1],
        pairs=len(units),
        processes=len({unit.process for unit in units}),
        process_share=judgement.process_share,
        contention=judgement.contention,
        noise=judgement.noise,
        typical_ratio=judgement.typical_ratio,
        distribution_changed=judgement.distribution_changed,
        pairs_needed=judgement.pairs_needed,
        parity=units[0].pair.parity,
        host=context.host(),
        weather=meanwhile,
        notes=(
            *judgement.notes,
            *_notes(a, b),
            *_call_notes(*sides),
            *filter(None, [found.note, wait_note(found.waited_s)]),
        ),
        interrupted=interrupted,
    )


# ---------------------------------------------------------------- before


def _recall(units: Sequence[Unit]) -> _Found:
    """What an earlier part of this run has measured already."""
    from modeldyno.measure.compare import PairUnit

    found = _Found()
    for unit in units:
        if isinstance(unit.measured, Pair):
            found.units.append(PairUnit(unit.process, unit.measured))
            found.earlier_s += took_s(unit.measured.a) + took_s(unit.measured.b)
    return found


def _prepare(spec: ComparisonSpec, context: Context, start: float) -> tuple[_ReadySide, _ReadySide]:
    """Read both models and let both sides run once."""
    deadline = start + spec.timeout_s
    sides = {"a": spec.a, "b": spec.b}
    setup = context.worker_setup(
        spec.a.model,
        spec.b.model,
        cells=(spec.a.cell, spec.b.cell),
        memory_limit_bytes=spec.memory_limit_bytes,
        inspecting=True,
        sandbox=spec.a.cell.sandbox if spec.a.cell.sandbox != "off" else spec.b.cell.sandbox,
    )
    with Trying(setup) as trying:
        # Both are read before either runs: then the user's own files are closed to the worker.
        models: dict[tuple[str | None, ...], tuple[ModelFacts, Path]] = {}
        for name, side in sides.items():
            if _which(side) not in models:
                facts = inspect(trying.ours, side.model, context, spec.timeout_s)
                copy = context.copy_privately(side.model, facts, name)
                models[_which(side)] = facts, copy
        facts_of = [models[_which(side)][0] for side in sides.values()]
        refuse_needless(spec.a.model, *facts_of)
        labels = " against ".join(Path(side.label).name for side in sides.values())
        context.say(Started(labels, spec.pairs or 0, "+".join(f.sha256 for f in facts_of)))
        a, b = parties(
            context.local(spec.a.model), facts_of[0], context.local(spec.b.model), facts_of[1]
        )
        ready: dict[str, _ReadySide] = {}
        first: InputPlan | None = None
        for name, party in [("b", b), ("a", a)] if tells_more(b, a) else [("a", a), ("b", b)]:
            side = sides[name]
            prepared = prepare(
                trying,
                party.model,
                party.facts,
                models[_which(side)][1],
                side.cell,
                name,
                spec.seed,
                context,
                deadline,
                party=party,
                beside=first,
            )
            first = prepared.inputs
            ready[name] = _ReadySide(side, party, prepared)
    return ready["a"], ready["b"]


def _which(side: SideSpec) -> tuple[str | None, ...]:
    """A file is read once, unless it is called in two ways."""
    return side.model.path, side.model.sha256, side.model.signature


# ---------------------------------------------------------------- measuring


def _measure(
    spec: ComparisonSpec,
    a: _ReadySide,
    b: _ReadySide,
    found: _Found,
    start: float,
    context: Context,
) -> None:
    """Fresh processes one after the other, each with its share of the pairs or of the time."""
    cores = max(a.prepared.cell.cores, b.prepared.cell.cores)

    def wait(why: str) -> None:
        context.say(Progress(len(found.units), spec.pairs or 0, why))

    apart = _are_apart(a, b)
    processes = max(spec.processes, FEWEST_PROCESSES) if apart else spec.processes
    processes = min(processes, spec.pairs or processes)
    recalled = len(found.units)
    first = 1 + max((unit.process for unit in found.units), default=-1)
    for process in range(processes):
        share = (process + 1) / processes
        if found.units and _is_settled(spec, a, b, found.units):
            return
        is_as_recalled = 0 < recalled == len(found.units)
        if is_as_recalled and _share_is_done(spec, found, share, start, 0.0):
            continue  # by the part of this run that was interrupted
        with context.leases.take(cores, context.stop, wait) as lease:
            found.waited_s += lease.waited_s
            start += lease.waited_s  # counts against neither the budget nor the time limit
            found.note = lease.note
            _run_process(spec, a, b, found, first + process, share, start, lease.cpus, context)


def _run_process(
    spec: ComparisonSpec,
    a: _ReadySide,
    b: _ReadySide,
    found: _Found,
    process: int,
    share: float,
    start: float,
    cpus: tuple[int, ...],
    context: Context,
) -> None:
    """Both sides on the same CPUs, as far as they ask for the same number."""
    from modeldyno.measure.compare import PairUnit, RunningRatio

    units = found.units
    if found.ratio is None:
        found.ratio = RunningRatio(units, (a.prepared.items, b.prepared.items))
    known: tuple[Calibration, Calibration] | None = None
    seats = _seats(spec, a, b, cpus, context)
    with seated(*seats, context.stop, _are_apart(a, b)) as pairing:
        while True:
            plan = _plan(spec, a.spins or b.spins, len(units), known)
            padding = hash((spec.seed, process, len(units)))
            began = time.monotonic()
            pair = pairing.measure(plan, padding, start + spec.timeout_s)
            found.sandboxes = pairing.sandboxes
            context.say(Unit(0, process, pair))
            units.append(PairUnit(process, pair))
            known = pair.a.calibration, pair.b.calibration
            context.say(_progress(spec, found, start))
            took = time.monotonic() - began
            if _share_is_done(spec, found, share, start, took) or _is_settled(spec, a, b, units):
                return


def _seats(
    spec: ComparisonSpec,
    a: _ReadySide,
    b: _ReadySide,
    cpus: tuple[int, ...],
    context: Context,
) -> tuple[Seat, Seat]:
    threads = max(a.prepared.cell.cores, b.prepared.cell.cores)
    first, second = (
        Seat(
            side.command(cpus[: side.prepared.cell.cores]),
            context.worker_setup(
                spec.a.model,
                spec.b.model,
                cells=(spec.a.cell, spec.b.cell),
                threads=threads,
                memory_limit_bytes=spec.memory_limit_bytes,
                sandbox=side.sandbox,
                python=side.prepared.python,
            ),
            a.prepared.reference,
        )
        for side in (a, b)
    )
    return first, second


def _are_apart(a: _ReadySide, b: _ReadySide) -> bool:
    """Whether one process cannot hold both."""
    lives = {life for life in (a.prepared.life, b.prepared.life) if life}
    return a.sandbox != b.sandbox or a.prepared.python != b.prepared.python or len(lives) > 1


def _plan(
    spec: ComparisonSpec,
    spins: bool,
    number: int,
    known: tuple[Calibration, Calibration] | None,
) -> PairPlan:
    plan = PairPlan(
        min_time_s=spec.pair_s,
        max_time_s=max(spec.pair_s, 0.25 * spec.seconds),
        warmup_limit_s=spec.pair_s,
        seed=hash((spec.seed, number)),
        calibrations=known,
    )
    if not spins:
        return plan
    return replace(plan, block_s=SPINNING_BLOCK_S, gap_s=SPINNING_GAP_S)


def _share_is_done(
    spec: ComparisonSpec, found: _Found, share: float, start: float, took: float
) -> bool:
    """Whether this process did its part; the next pair must still fit the time."""
    pairs = len(found.units)
    if spec.pairs is not None:
        return pairs >= round(share * spec.pairs)
    if share == 1 and pairs < FEWEST_PAIRS:  # slow models: rather late than without an answer
        return False
    used_s = found.earlier_s + time.monotonic() - start
    return used_s + took / 2 >= share * spec.seconds


def _is_settled(spec: ComparisonSpec, a: _ReadySide, b: _ReadySide, units: list[PairUnit]) -> bool:
    """Adaptive comparisons end at a look that decides; others never look."""
    from modeldyno.measure.compare import judge
    from modeldyno.measure.stopping import look_level
    from modeldyno.measure.weather import UNKNOWN

    level = look_level(len(units)) if spec.adaptive else None
    if level is None:
        return False
    items = a.prepared.items, b.prepared.items
    return judge(units, spec.margin, items, UNKNOWN, level).verdict != "inconclusive"


def _level(spec: ComparisonSpec, pairs: int) -> float:
    from modeldyno.measure.compare import LEVEL
    from modeldyno.measure.stopping import LOOK_LEVEL

    return LOOK_LEVEL if spec.adaptive and pairs else LEVEL


def _progress(spec: ComparisonSpec, found: _Found, start: float) -> Progress:
    pairs = len(found.units)
    ratio = found.ratio.estimate() if found.ratio else None
    elapsed = found.earlier_s + time.monotonic() - start
    planned = spec.pairs or max(pairs, round(pairs * spec.seconds / elapsed))
    return Progress(
        units_done=pairs,
        units_planned=planned,
        doing="pairs",
        ratio=ratio.value if ratio else None,
        relative_half_width=ratio.relative if ratio else None,
        remaining_s=None if spec.pairs else max(0.0, spec.seconds - elapsed),
    )


# ---------------------------------------------------------------- after


def _side_result(
    side: _ReadySide,
    judgement: Judgement,
    index: int,
    measured: SessionFacts,
    sandbox: SandboxReport | None,
) -> SideResult:
    examined = side.prepared.facts
    return SideResult(
        label=side.spec.label,
        spec=side.spec.cell,
        model=side.model,
        facts=examined_as(measured, examined),
        floor_s=judgement.floor_s[index],
        typical_s=judgement.typical_s[index],
        batch_size=side.prepared.batch_size,
        sandbox=sandbox,
    )


def _notes(a: _ReadySide, b: _ReadySide) -> tuple[str, ...]:
    notes = list(
        dict.fromkeys((*a.prepared.notes, *b.prepared.notes, *a.party.notes, *b.party.notes))
    )
    if a.prepared.batch_size != b.prepared.batch_size:
        notes.append("batch sizes differ: the ratio is of the time per item")
    if a.prepared.facts.streams != b.prepared.facts.streams:
        notes.append("streams differ: the ratio is of the time per item")
    precisions = a.prepared.facts.precision, b.prepared.facts.precision
    if None not in precisions and precisions[0] != precisions[1]:
        notes.append(f"precision differs: {precisions[0]} against {precisions[1]}")
    notes += [
        f"{side.prepared.facts.engine}: {side.prepared.facts.other_python}"
        for side in (a, b)
        if side.prepared.facts.other_python
    ]
    if _are_apart(a, b):
        notes.append("the sides cannot share a process: two workers took turns of 10 ms")
    if a.spins or b.spins:
        notes.append(
            "a spinning thread pool was measured in 0.2 s blocks with 50 ms of rest between"
        )
    return tuple(notes)


def _call_notes(a: SideResult, b: SideResult) -> tuple[str, ...]:
    notes = [
        f"{name}: {note}"
        for name, side in (("A", a), ("B", b))
        if (note := call_note(side.spec.contract, side.facts))
    ]
    if a.contract != b.contract:
        notes.append(f"the calls differ, so the ratio says little: {a.contract} and {b.contract}")
    return tuple(notes)
