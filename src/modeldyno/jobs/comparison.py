"""Compare two cells: pairs of sessions in alternation, over several processes."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from modeldyno.core.deviations import output_deviations
from modeldyno.core.errors import Cancelled
from modeldyno.core.hosts import tool_version
from modeldyno.core.jobs import Progress, Started, SteadyShare, Unit, sensible_width
from modeldyno.core.models import ModelFacts
from modeldyno.core.precisions import are_alike
from modeldyno.core.results import ComparisonResult, SideResult
from modeldyno.core.sessions import (
    Calibration,
    Pair,
    PairPlan,
    Sandboxing,
    SandboxReport,
    Session,
    call_note,
    duration_s,
    with_examined_facts,
)
from modeldyno.core.specs import ComparisonSpec, SideSpec
from modeldyno.inputs.matching import MatchedModel, is_more_specific, match_models
from modeldyno.inputs.model_overrides import refuse_needless_overrides
from modeldyno.inputs.plans import InputPlan
from modeldyno.jobs.budgets import SHARE_OF_TRIAL, slow_notice
from modeldyno.jobs.leases import wait_note
from modeldyno.jobs.pairing import (
    FEWEST_PROCESSES,
    PairedSide,
    Pairing,
    Reports,
    launched_pairing,
)
from modeldyno.jobs.preparation import Prepared, TrialWorkers
from modeldyno.jobs.protocol import Context
from modeldyno.store.models import check_unchanged
from modeldyno.worker.launch import Stop

if TYPE_CHECKING:
    from modeldyno.measure.compare import Judgement

Launch = Callable[[PairedSide, PairedSide, Stop, bool], AbstractContextManager[Pairing]]

FEWEST_PAIRS = 2  # fewer have no interval
USEFUL_PAIRS = 4  # what slow models are called less often for: fewer have a very wide interval
SPINNING_BLOCK_S = 0.2  # a spinning pool needs long blocks …
SPINNING_GAP_S = 0.05  # … and time to fall asleep before the other side's turn


@dataclass(frozen=True)
class Side:
    spec: SideSpec
    party: MatchedModel
    prepared: Prepared
    trial_s: float  # what loading the model and running it once took

    @property
    def model(self) -> ModelFacts:
        return self.party.facts

    @property
    def sandbox(self) -> Sandboxing:
        return self.spec.cell.sandbox

    @property
    def spins(self) -> bool:
        facts = self.prepared.facts
        return bool(facts.spinning) and (facts.threads or 1) > 1


def run_comparison(spec: ComparisonSpec, context: Context) -> ComparisonResult:
    start = time.monotonic()
    a, b = _prepare(spec, context, start)
    from modeldyno.measure import host
    from modeldyno.measure.compare import judge_pairs

    before = host.read_load()
    pairs = Pairs(spec, a, b, context, start)
    interrupted = False
    try:
        pairs.measure()
    except Cancelled:
        interrupted = True
    units = pairs.units
    if len(units) < FEWEST_PAIRS:
        raise Cancelled("Stopped before there was anything to compare")
    for side in (a, b):
        check_unchanged(side.model, side.prepared.copy or Path(side.prepared.target.model))
    meanwhile = host.weather(before, host.read_load())
    judgement = judge_pairs(units, spec.margin, pairs.items, meanwhile, _confidence_level(spec))
    sides = (
        _side_result(a, judgement, 0, [unit.pair.a for unit in units], pairs.sandboxes[0]),
        _side_result(b, judgement, 1, [unit.pair.b for unit in units], pairs.sandboxes[1]),
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
            *_make_notes(a, b),
            *_notes_on_calls(*sides),
            *filter(None, [pairs.note, wait_note(pairs.waited_s)]),
        ),
        interrupted=interrupted,
    )


# ---------------------------------------------------------------- before


def _prepare(spec: ComparisonSpec, context: Context, start: float) -> tuple[Side, Side]:
    """Read both models and let both sides run once."""
    deadline = start + spec.timeout_s
    sides = {"a": spec.a, "b": spec.b}
    with closing(TrialWorkers(spec, (spec.a.cell, spec.b.cell), context)) as trials:
        # Both are read before either runs: from then on, the worker cannot read the user's files.
        models: dict[tuple[str | None, ...], tuple[ModelFacts, Path]] = {}
        for name, side in sides.items():
            if _file_key(side) not in models:
                models[_file_key(side)] = trials.inspect(side.model, name)
        facts_of = [models[_file_key(side)][0] for side in sides.values()]
        refuse_needless_overrides(spec.a.model, *facts_of)
        labels = " against ".join(Path(side.label).name for side in sides.values())
        context.send(Started(labels, spec.pairs or 0, "+".join(f.sha256 for f in facts_of)))
        a, b = match_models(
            context.local(spec.a.model), facts_of[0], context.local(spec.b.model), facts_of[1]
        )
        ready: dict[str, Side] = {}
        first: InputPlan | None = None
        for name, party in [("b", b), ("a", a)] if is_more_specific(b, a) else [("a", a), ("b", b)]:
            side = sides[name]
            trial_start = time.monotonic()
            prepared = trials.prepare(
                party.model,
                party.facts,
                models[_file_key(side)][1],
                side.cell,
                name,
                deadline,
                party=party,
                other_inputs=first,
            )
            first = prepared.inputs
            ready[name] = Side(side, party, prepared, time.monotonic() - trial_start)
    return ready["a"], ready["b"]


def _file_key(side: SideSpec) -> tuple[str | None, ...]:
    """A file is read once for each of its signatures."""
    return side.model.path, side.model.sha256, side.model.signature


# ---------------------------------------------------------------- measuring


class Pairs:
    """The pairs measured so far, and how more of them are measured."""

    def __init__(
        self,
        spec: ComparisonSpec,
        a: Side,
        b: Side,
        context: Context,
        start: float,
        clock: Callable[[], float] = time.monotonic,
        launch: Launch = launched_pairing,
    ) -> None:
        from modeldyno.measure.compare import PairUnit, RunningRatio

        self._clock = clock
        self._launch = launch
        self._spec = spec
        self._context = context
        self._start = start  # of the time budget and the time limit
        self._sides = a, b
        self.items = a.prepared.items, b.prepared.items
        self.units = [
            PairUnit(unit.process, unit.measured)
            for unit in context.earlier
            if isinstance(unit.measured, Pair)
        ]
        # Of the time budget, what the interrupted part of this run has used.
        self._earlier_s = sum(duration_s(u.pair.a) + duration_s(u.pair.b) for u in self.units)
        self._ratio = RunningRatio(self.units, self.items)
        self.sandboxes: Reports = (None, None)
        self.note = ""  # about the cores they were measured on
        self.waited_s = 0.0  # for cores
        self._process_s = 0.0  # what the latest process took until its first pair was measured
        self._steady = SteadyShare()

    def measure(self) -> None:
        """Fresh processes one after the other, each with its share of the pairs or of the time."""
        spec, context, cores = self._spec, self._context, self._most_cores
        processes = (
            max(spec.processes, FEWEST_PROCESSES)
            if _need_two_workers(*self._sides)
            else spec.processes
        )
        processes = min(processes, spec.pairs or processes)
        recalled = len(self.units)
        first = 1 + max((unit.process for unit in self.units), default=-1)
        self._announce()
        for process in range(processes):
            share = (process + 1) / processes
            if self.units and (self._is_decided() or not self._fits(self._process_s)):
                return
            is_as_recalled = 0 < recalled == len(self.units)
            if is_as_recalled and self._is_share_done(share, 0.0):
                continue  # by the part of this run that was interrupted
            with context.leases.take(cores, context.stop, self._show_waiting) as lease:
                self.waited_s += lease.waited_s
                self._start += lease.waited_s  # which counts against no budget or time limit
                self.note = lease.note
                self._run_process(first + process, share, lease.cpus)

    def _show_waiting(self, why: str) -> None:
        self._context.send(Progress(len(self.units), self._planned(), why))

    @property
    def _most_cores(self) -> int:
        return max(side.prepared.cell.cores for side in self._sides)

    def _run_process(self, process: int, share: float, cpus: tuple[int, ...]) -> None:
        """Both sides on the same CPUs, unless they use different numbers of them."""
        from modeldyno.measure.compare import PairUnit

        spec, context, units = self._spec, self._context, self.units
        known: tuple[Calibration, Calibration] | None = None
        launched_at = self._clock()
        sides = (
            self._make_paired_side(self._sides[0], cpus),
            self._make_paired_side(self._sides[1], cpus),
        )
        with self._launch(*sides, context.stop, _need_two_workers(*self._sides)) as pairing:
            while True:
                plan = self._make_plan(known)
                padding = hash((spec.seed, process, len(units)))
                began = self._clock()
                pair = pairing.measure(plan, padding, self._start + spec.timeout_s)
                self.sandboxes = pairing.sandboxes
                context.send(Unit(0, process, pair))
                units.append(PairUnit(process, pair))
                if known is None:
                    self._process_s = self._clock() - launched_at
                known = pair.a.calibration, pair.b.calibration
                context.send(self._make_progress())
                pair_s = self._clock() - began
                if self._is_share_done(share, pair_s) or self._is_decided():
                    return

    def _make_paired_side(self, side: Side, cpus: tuple[int, ...]) -> PairedSide:
        spec = self._spec
        setup = self._context.worker_setup(
            spec,
            cells=(spec.a.cell, spec.b.cell),
            threads=self._most_cores,
            sandbox=side.sandbox,
            python=side.prepared.python,
        )
        prepared = side.prepared
        return PairedSide(prepared.session(cpus[: prepared.cell.cores]), setup, prepared.reference)

    def _make_plan(self, known: tuple[Calibration, Calibration] | None) -> PairPlan:
        spec = self._spec
        plan = PairPlan(
            min_time_s=spec.pair_s,
            max_time_s=max(spec.pair_s, 0.25 * spec.seconds),
            warmup_limit_s=spec.pair_s,
            time_s=self._pair_time_s(),
            seed=hash((spec.seed, len(self.units))),
            calibrations=known,
        )
        if not any(side.spins for side in self._sides):
            return plan
        return replace(plan, block_s=SPINNING_BLOCK_S, gap_s=SPINNING_GAP_S)

    def _elapsed_s(self) -> float:
        return self._earlier_s + self._clock() - self._start

    def _is_share_done(self, share: float, pair_s: float) -> bool:
        """Whether this process did its part; one more pair must still fit the time."""
        if self._spec.pairs is not None:
            return len(self.units) >= round(share * self._spec.pairs)
        if share == 1 or not self._has_time_for(self._process_s):  # or for another process
            return not self._fits(pair_s)
        return self._elapsed_s() + pair_s / 2 >= share * self._spec.seconds

    def _fits(self, seconds: float) -> bool:
        """Whether it is measured: slow models are better late than without an answer."""
        return len(self.units) < FEWEST_PAIRS or self._has_time_for(seconds)

    def _has_time_for(self, seconds: float) -> bool:
        return self._spec.pairs is not None or self._elapsed_s() + seconds <= self._spec.seconds

    def _pair_time_s(self) -> float | None:
        """What the next pair may take, so that there will be some of them."""
        if self._spec.pairs is not None:
            return None
        left_s = max(0.0, self._spec.seconds - self._elapsed_s())
        return left_s / max(1, USEFUL_PAIRS - len(self.units))

    def _announce(self) -> None:
        if self._spec.pairs is not None or self.units:
            return
        once_s = sum(side.trial_s for side in self._sides)
        about_s = self._elapsed_s() + FEWEST_PAIRS * (1 + SHARE_OF_TRIAL) * once_s
        notice = slow_notice("both sides", self._elapsed_s(), about_s, self._spec.seconds)
        if notice:
            self._context.send(Progress(0, 0, "measuring", notice=notice))

    def _is_decided(self) -> bool:
        """An adaptive comparison ends at an interim look that decides; others have none."""
        from modeldyno.measure.compare import judge_pairs
        from modeldyno.measure.host import UNKNOWN_WEATHER
        from modeldyno.measure.stopping import look_level

        level = look_level(len(self.units)) if self._spec.adaptive else None
        if level is None:
            return False
        judgement = judge_pairs(self.units, self._spec.margin, self.items, UNKNOWN_WEATHER, level)
        return judgement.verdict != "inconclusive"

    def _make_progress(self) -> Progress:
        pairs, spec = len(self.units), self._spec
        ratio = self._ratio.estimate()
        return Progress(
            units_done=pairs,
            units_planned=self._planned(),
            doing="pairs",
            ratio=ratio.value if ratio else None,
            relative_half_width=sensible_width(ratio.relative)
            if ratio and pairs >= USEFUL_PAIRS
            else None,
            remaining_s=None if spec.pairs else max(0.0, spec.seconds - self._elapsed_s()),
        )

    def _planned(self) -> int:
        """Pairs, at the pace so far; 0 if there is none yet."""
        pairs, spec = len(self.units), self._spec
        planned = spec.pairs or max(pairs, round(pairs * spec.seconds / self._elapsed_s()))
        return self._steady.planned(pairs, planned)


def _need_two_workers(a: Side, b: Side) -> bool:
    """Whether one process cannot hold both."""
    settings = {side.prepared.process_settings for side in (a, b)} - {""}
    return a.sandbox != b.sandbox or a.prepared.python != b.prepared.python or len(settings) > 1


def _confidence_level(spec: ComparisonSpec) -> float:
    from modeldyno.measure.compare import LEVEL
    from modeldyno.measure.stopping import LOOK_LEVEL

    return LOOK_LEVEL if spec.adaptive else LEVEL


# ---------------------------------------------------------------- after


def _side_result(
    side: Side,
    judgement: Judgement,
    index: int,
    sessions: Sequence[Session],
    sandbox: SandboxReport | None,
) -> SideResult:
    return SideResult(
        label=side.spec.label,
        spec=side.spec.cell,
        model=side.model,
        facts=with_examined_facts(sessions[0].facts, side.prepared.facts),
        floor_s=judgement.floor_s[index],
        typical_s=judgement.typical_s[index],
        batch_size=side.prepared.batch_size,
        sandbox=sandbox,
        output_deviations=output_deviations([session.unusual_outputs for session in sessions]),
        notes=side.prepared.notes,
    )


def _make_notes(a: Side, b: Side) -> tuple[str, ...]:
    notes = list(
        dict.fromkeys((*a.prepared.notes, *b.prepared.notes, *a.party.notes, *b.party.notes))
    )
    if a.prepared.batch_size != b.prepared.batch_size:
        notes.append("batch sizes differ: the ratio is of the time per item")
    if a.prepared.facts.streams != b.prepared.facts.streams:
        notes.append("streams differ: the ratio is of the time per item")
    mine, theirs = a.prepared.facts.precision, b.prepared.facts.precision
    if mine and theirs and not are_alike(mine, theirs):
        notes.append(f"precision differs: {mine} against {theirs}")
    notes += [
        f"{side.prepared.facts.engine}: {side.prepared.facts.other_python}"
        for side in (a, b)
        if side.prepared.facts.other_python
    ]
    if _need_two_workers(a, b):
        notes.append("the sides cannot share a process: two workers took turns of 10 ms")
    if a.spins or b.spins:
        notes.append(
            "a spinning thread pool was measured in 0.2 s blocks with 50 ms of rest between"
        )
    return tuple(notes)


def _notes_on_calls(a: SideResult, b: SideResult) -> tuple[str, ...]:
    notes = [
        f"{name}: {note}"
        for name, side in (("A", a), ("B", b))
        if (note := call_note(side.spec.contract, side.facts))
    ]
    if a.contract != b.contract:
        notes.append(f"the calls differ, so the ratio says little: {a.contract} and {b.contract}")
    return tuple(notes)
