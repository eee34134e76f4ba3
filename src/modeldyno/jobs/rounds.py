"""Measure cells in rounds: each visits every open cell once, in a new random order.

So a drifting machine affects all cells alike, and two cells are compared by the rounds they share.
A cell is over when it is precise, out of budget, or clearly outraced.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from modeldyno.core.cell_axes import WORKLOAD
from modeldyno.core.errors import Cancelled, ModeldynoError, StorageFailed, WrongOutput
from modeldyno.core.jobs import CellProgress, Progress, SteadyShare, Unit, sensible_width
from modeldyno.core.requests.axes import has_same_axes
from modeldyno.core.results import (
    FEWEST_SESSIONS,
    OBJECTIVES,
    Objective,
    Standings,
    StopReason,
)
from modeldyno.core.sessions import Energy, Session, SessionPlan, call_note
from modeldyno.core.specs import BenchmarkSpec, CellSpec
from modeldyno.jobs.budgets import SHARE_OF_TRIAL, slow_notice
from modeldyno.jobs.cells import Cell, MeasuredUnit
from modeldyno.jobs.contract import set_mismatches
from modeldyno.jobs.instances import CellWorkers, InstanceGroup, measure_together, meter_one
from modeldyno.jobs.protocol import Context
from modeldyno.worker.launch import Worker
from modeldyno.worker.messages import MeasureSession, SessionMeasured

if TYPE_CHECKING:
    from modeldyno.measure.energy import EnergyGauge

MOST_REPEATED = 4  # rounds in which the machine itself changed
WINDOW_S, QUICK_WINDOW_S = 1.0, 0.5  # of instances side by side, and of an energy meter
FEWEST_REPETITIONS, FEWEST_QUICK_REPETITIONS = 6, 4  # of instances side by side
FAR_TOO_LONG = 4  # times the budget: from here on, fewer are enough
FEWEST_ROUNDS = 4  # before cells are distinguished, or called tied
FRESH_SESSIONS = 8  # of a winner, whose first number was selected for being low
MOST_FOR_WINNERS = 1 / 3  # of the time of all cells; if this is too little, no winner is checked
FOR_AN_INTERVAL = 1.1  # times the budget may be used if that gives one
INTERVAL_MARGIN = 1.1  # of the time that an interval takes, as it is advised


class Rounds:
    def __init__(
        self,
        spec: BenchmarkSpec,
        cells: list[Cell],
        context: Context,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._clock = clock
        self._spec = spec
        self._cells = cells
        self._context = context
        self._order = random.Random(spec.seed)  # noqa: S311 - an order of measurement
        self._next = 1 + max((u.round for cell in cells for u in cell.units), default=-1)
        self._first_process = 1 + max((u.process for c in cells for u in c.units), default=-1)
        self._disturbed: list[int] = []
        self._gauges: dict[str, EnergyGauge] = {}
        self._states: dict[int, tuple[object, CellProgress]] = {}  # as last reported
        self._done = sum(len(cell.units) for cell in cells)  # sessions; none is ever taken back
        self._checks = 0  # still to come after the rounds: winners' sessions, repeated rounds
        self._are_rounds_over = False  # only checks are left
        self._steady = SteadyShare()

    @property
    def is_sweep(self) -> bool:
        return len(self._cells) > 1

    @property
    def _aims_at_precision(self) -> bool:
        """Otherwise the user fixed the number of calls, or wants a rough answer soon."""
        return self._spec.iterations is None and self._spec.budget.floor_half_width is not None

    def run(self) -> tuple[Standings, ...]:
        """Measure until every cell is over. Returns, for each workload, the leading cell and those
        that cannot be distinguished from it."""
        for cell in self._cells:  # cells of a resumed run may be complete already
            if cell.units and not cell.is_over:
                cell.stop_reason = self._stop_reason(cell)
        self._announce()
        with closing(CellWorkers(self._spec, self._context)) as workers:
            while any(not cell.is_over for cell in self._cells):
                self._measure_round(self._next, [c for c in self._cells if not c.is_over], workers)
                self._mark_if_disturbed(self._next)
                self._next += 1
                self._stop_outraced_cells()
            self._are_rounds_over = True
            self._note_interval_budgets()
            if not self.is_sweep:
                return ({},)
            if not self._aims_at_precision:
                return self._rank_workloads()
            self._repeat_disturbed(workers)
            standings = self._rank_workloads()
            every = [standing for workload in standings for standing in workload.values()]
            winners = [*dict.fromkeys(s.leader for s in every if s.has_winner)]
            fresh = {winner: self._fresh_sessions(winner, winners) for winner in winners}
            self._checks = sum(fresh.values())
            for winner, sessions in fresh.items():
                self._remeasure(self._cells[winner], sessions, workers)
        return standings

    # ------------------------------------------------------------ visits

    def _measure_round(self, number: int, cells: Iterable[Cell], workers: CellWorkers) -> None:
        visited = list(cells)
        self._order.shuffle(visited)
        for cell in visited:
            self._measure_and_decide(
                cell, number, self._process_of_round(number), workers, self._stop_reason
            )

    def _process_of_round(self, number: int) -> int:
        """Several sessions share a process; the last process takes all the rest."""
        budget = self._spec.budget
        done = number // budget.sessions_per_process
        return self._first_process + min(done, budget.processes - 1)

    def _measure_and_decide(
        self,
        cell: Cell,
        number: int,
        process: int,
        workers: CellWorkers,
        decide: Callable[[Cell], StopReason | None],
    ) -> None:
        """One fresh session of a cell; an error ends that cell and no other."""
        # Waiting for cores counts against neither budget nor time limit.
        wanted = cell.spec.cores * cell.spec.instances
        with self._context.leases.take(wanted, self._context.stop, self._show_waiting) as lease:
            cell.waited_s += lease.waited_s
            start = self._clock()
            try:
                session = self._measure_session(cell, process, workers, lease.cpus)
                cell.note(lease.note)
                session = self._meter_energy(session, cell, process, workers, lease.cpus)
                self._add_session(session, cell, process, number, self._clock() - start)
            except (Cancelled, StorageFailed):
                raise
            except ModeldynoError as error:
                cell.error = error
            finally:
                cell.used_s += self._clock() - start
        if cell.error is None:
            cell.stop_reason = decide(cell)
        if cell.is_over:
            workers.dismiss(cell)
        self._context.send(self._make_progress(cell))

    def _show_waiting(self, why: str) -> None:
        self._context.send(Progress(self._done, self._count_planned_units(), why))

    def _measure_session(
        self, cell: Cell, process: int, cell_workers: CellWorkers, cpus: tuple[int, ...]
    ) -> Session:
        prepared = cell.prepared
        assert prepared is not None
        workers = cell_workers.of(cell, process)
        if cell.spec.instances > 1:
            gauge = self._find_gauge(prepared.facts.device)
            session = measure_together(
                self._make_instance_group(cell, workers, cpus), self._window_s, gauge
            )
        else:
            command = MeasureSession(
                session=prepared.session(cpus),
                plan=replace(session_plan(self._spec), time_s=self._session_time_s(cell)),
                padding_seed=self._padding_seed(cell, process),
                reference=prepared.reference,
            )
            deadline_s, stop = self._deadline_s(cell), self._context.stop
            session = workers[0].request(command, SessionMeasured, deadline_s, stop).session
        cell.sandbox = workers[0].sandbox
        return session

    def _meter_energy(
        self,
        session: Session,
        cell: Cell,
        process: int,
        workers: CellWorkers,
        cpus: tuple[int, ...],
    ) -> Session:
        """The session with the energy of its calls, if there is a meter: once in each process.

        This cannot spoil what was measured.
        """
        assert cell.prepared is not None
        gauge = self._find_gauge(cell.prepared.facts.device)
        is_first = all(unit.process != process for unit in cell.units)
        if session.energy is not None or not gauge.has_meter or not is_first:
            return session if session.energy else replace(session, energy=gauge.unread())
        if self._spec.iterations is not None and not self._spec.meters:
            return replace(session, energy=Energy(None, "not metered with a number of iterations"))
        group = self._make_instance_group(cell, workers.of(cell, process), cpus)
        group.plan = replace(group.plan, iterations=None)  # a window of time, not of calls
        try:
            energy = meter_one(group, self._window_s, gauge)
        except Cancelled:
            return session  # the request to stop remains, and is noticed next
        except ModeldynoError as error:
            workers.dismiss(cell)
            energy = Energy(None, f"metering failed: {error.title}")
        return replace(session, energy=energy)

    @property
    def _window_s(self) -> float:
        return QUICK_WINDOW_S if self._spec.budget.name == "quick" else WINDOW_S

    def _make_instance_group(
        self, cell: Cell, workers: list[Worker], cpus: tuple[int, ...]
    ) -> InstanceGroup:
        prepared = cell.prepared
        assert prepared is not None
        return InstanceGroup(
            workers=workers,
            session=prepared.session(),
            cpus=cpus,
            reference=prepared.reference,
            plan=session_plan(self._spec),
            seed=self._padding_seed(cell, len(workers)),
            deadline_s=self._deadline_s(cell),
            stop=self._context.stop,
        )

    def _deadline_s(self, cell: Cell) -> float:
        return self._clock() + self._spec.timeout_s - cell.used_s

    def _padding_seed(self, cell: Cell, process: int) -> int:
        return hash((self._spec.seed, cell.number, process, len(cell.units)))

    def _find_gauge(self, device: str) -> EnergyGauge:
        from modeldyno.measure.energy import EnergyGauge

        if device not in self._gauges:
            self._gauges[device] = EnergyGauge(device)
        return self._gauges[device]

    def _add_session(
        self, session: Session, cell: Cell, process: int, number: int, wall_s: float
    ) -> None:
        """Keep a session, unless its outputs are wrong: a wrong answer has no latency."""
        if session.parity is not None and not session.parity.agrees:
            raise WrongOutput(
                "Two sessions of this cell computed different results",
                why=f"outputs differ by {session.parity.max_rel_error:.2g} of their range",
                fix="Report this to the engine's makers; a wrong answer has no latency",
            )
        cell.note(call_note(cell.spec.contract, session.facts))
        self._context.send(Unit(cell.number, process, session, number))
        cell.units.append(MeasuredUnit(process, number, session, wall_s))
        self._done += 1

    # ------------------------------------------------------------ racing

    @cached_property  # every report of progress asks for it, for each cell
    def _workloads(self) -> list[list[Cell]]:
        """Cells that compute the same: only those are ranked against each other."""
        groups: list[list[Cell]] = []
        for cell in self._cells:
            same = (group for group in groups if has_same_axes(group[0].spec, cell.spec, WORKLOAD))
            if (group := next(same, None)) is not None:
                group.append(cell)
            else:
                groups.append([cell])
        return groups

    def _figures_by_cell(
        self, objective: Objective, cells: list[Cell]
    ) -> dict[int, dict[int, float]]:
        """Each rankable cell's figure by round: seconds per call, or per item."""
        rankable = [c for c in cells if c.error is None and c.units and not c.mismatches]
        if objective == "latency":
            return {cell.number: cell.floors() for cell in rankable}
        if any(cell.spec.instances > 1 for cell in self._cells):
            return {cell.number: cell.seconds_per_item() for cell in rankable}
        return {
            cell.number: {n: s / cell.items for n, s in cell.floors().items()} for cell in rankable
        }

    def _stop_outraced_cells(self) -> None:
        """A cell that clearly loses by latency and by throughput needs no more precision."""
        if not (self.is_sweep and self._aims_at_precision):
            return
        from modeldyno.measure.sweep import outraced_cells

        set_mismatches(self._cells)
        for cells in self._workloads:
            latency, throughput = (self._figures_by_cell(by, cells) for by in OBJECTIVES)
            lost = outraced_cells(latency) & outraced_cells(throughput)
            for cell in cells:
                if cell.number in lost and not cell.is_over:
                    cell.stop_reason = "outraced"

    def _rank_workloads(self) -> tuple[Standings, ...]:
        set_mismatches(self._cells)
        return tuple(self._rank_workload(cells) for cells in self._workloads)

    def _rank_workload(self, cells: list[Cell]) -> Standings:
        from modeldyno.measure.sweep import rank_cells

        ranked = {by: rank_cells(self._figures_by_cell(by, cells)) for by in OBJECTIVES}
        rounds = [len(by_round) for by_round in self._figures_by_cell("latency", cells).values()]
        if len(rounds) < 2 or min(rounds) < FEWEST_ROUNDS:
            return {}  # a single cell wins nothing, and few rounds cannot distinguish cells
        return {objective: who for objective, who in ranked.items() if who is not None}

    def _fresh_sessions(self, winner: int, winners: Sequence[int]) -> int:
        """As many as fit into this winner's part of the time that is left; 0 if they would be too
        few for an interval."""
        each_s = max(self._cells[winner].session_s, 1e-9)
        fitting = int(self._time_left_s() / len(winners) / each_s)
        return 0 if fitting < FEWEST_SESSIONS else min(FRESH_SESSIONS, fitting)

    def _remeasure(self, winner: Cell, sessions: int, workers: CellWorkers) -> None:
        """The best of many was also lucky, so its number comes from fresh sessions."""
        if not sessions:
            winner.note(
                "best of the sweep, and there was no time for fresh sessions after it: "
                "its number may be a lucky one"
            )
            return
        earlier, reason = winner.units, winner.stop_reason
        winner.units, winner.stop_reason = [], None
        first = 1 + max(unit.process for unit in earlier)
        for count in range(sessions):
            if winner.error is not None:
                break
            process = first + count // self._spec.budget.sessions_per_process
            self._checks -= 1
            self._measure_and_decide(winner, self._next + count, process, workers, lambda _: None)
        workers.dismiss(winner)
        self._next += sessions
        winner.stop_reason = reason
        winner.notes += ("best of the sweep, so its number is from fresh sessions after it",)

    # ------------------------------------------------------------ canary

    def _mark_if_disturbed(self, number: int) -> None:
        from modeldyno.measure.sweep import canary_moved

        if not self.is_sweep:
            return
        canaries = [cell.canaries() for cell in self._cells]
        by_round = [
            {cell: floors[n] for cell, floors in enumerate(canaries) if n in floors}
            for n in range(number + 1)
        ]
        if canary_moved(by_round[:-1], by_round[-1]):
            self._disturbed.append(number)

    def _repeat_disturbed(self, workers: CellWorkers) -> None:
        """Rounds in which the machine changed are kept, and measured once more if time is left."""
        rounds = []
        left_s = self._time_left_s() - self._for_winners_s()
        for number in self._disturbed[:MOST_REPEATED]:
            cells = [c for c in self._cells if c.error is None and number in c.floors()]
            left_s -= sum(cell.session_s for cell in cells)
            if left_s > 0:
                rounds.append(cells)
        self._checks = sum(map(len, rounds)) + self._expected_checks()
        for cells in rounds:
            for cell in cells:
                self._checks -= 1
                reason, cell.stop_reason = cell.stop_reason, None
                self._measure_and_decide(
                    cell, self._next, cell.units[-1].process, workers, lambda *_, r=reason: r
                )
            self._next += 1

    # ------------------------------------------------------------ time

    def _stop_reason(self, cell: Cell) -> StopReason | None:
        spec = self._spec
        if spec.iterations is not None:
            return "fixed"
        from modeldyno.measure.stopping import choose_stop_reason

        has_interval = len(cell.units) >= FEWEST_SESSIONS
        seconds = self._budget_s(cell) * (1.0 if has_interval else FOR_AN_INTERVAL)
        has_too_few = len(cell.units) < _fewest_units(spec, cell.spec)
        if has_too_few and cell.used_s < FAR_TOO_LONG * spec.budget.seconds:
            return None
        floors = [unit.floor_s for unit in cell.units]
        typicals = [unit.typical_s for unit in cell.units]
        budget = replace(spec.budget, seconds=seconds)
        return choose_stop_reason(floors, typicals, budget, cell.used_s, cell.session_s)

    def _budget_s(self, cell: Cell) -> float:
        """What a cell may use, without its part of the time that is kept for the winners."""
        return budget_s(self._spec, cell.spec) - self._for_winners_s() / len(self._cells)

    def _session_time_s(self, cell: Cell) -> float | None:
        """What the next session may take, so that there will be enough of them for an interval."""
        if self._spec.iterations is not None:
            return None
        if self._are_rounds_over:
            left_s, sessions = self._time_left_s(), 1 + self._checks
        else:
            left_s = self._budget_s(cell) - cell.used_s
            sessions = max(1, FEWEST_SESSIONS - len(cell.units))
        return max(left_s / sessions, SHARE_OF_TRIAL * cell.trial_s)

    def _for_winners_s(self) -> float:
        """Kept for the winners' fresh sessions, once it is known how long they take; nothing if
        they would take too much."""
        known = [cell.session_s for cell in self._cells if cell.units]
        if not (known and self.is_sweep and self._aims_at_precision):
            return 0.0
        winners = min(len(self._cells), len(OBJECTIVES) * len(self._workloads))
        each_s, most_s = sum(known) / len(known), MOST_FOR_WINNERS * self._total_s()
        if winners * FEWEST_SESSIONS * each_s > most_s:
            return 0.0
        return min(winners * FRESH_SESSIONS * each_s, most_s)

    def _total_s(self) -> float:
        return sum(budget_s(self._spec, cell.spec) for cell in self._cells)

    def _time_left_s(self) -> float:
        return self._total_s() - sum(cell.used_s for cell in self._cells)

    def _announce(self) -> None:
        """Say how long it will take, perhaps more than the budget: each cell was loaded and run
        once."""
        cells = [cell for cell in self._open_cells() if not cell.units]
        if self._spec.iterations is not None or not cells:
            return
        budgets_s = [budget_s(self._spec, cell.spec) for cell in cells]
        about_s = [
            max(budget, cell.before_s + self._first_session_s(cell) + cell.check_s)
            for budget, cell in zip(budgets_s, cells, strict=True)
        ]
        slowest = max(cells, key=lambda cell: cell.before_s)
        what = slowest.name if self.is_sweep else "engine and model"
        progress = replace(
            self._make_progress(cells[0]),
            remaining_s=sum(about_s) - sum(cell.used_s for cell in cells),
            notice=slow_notice(what, slowest.before_s, sum(about_s), sum(budgets_s)),
        )
        self._context.send(progress)

    def _first_session_s(self, cell: Cell) -> float:
        """About: it starts a process, which loads the model and runs it once more."""
        measuring_s = SHARE_OF_TRIAL * cell.trial_s + self._spec.budget.session_s
        return cell.start_s + cell.trial_s + measuring_s

    def _note_interval_budgets(self) -> None:
        for cell in self._cells:
            count = len(cell.units)
            if cell.stop_reason == "budget" and 0 < count < FEWEST_SESSIONS:
                needed_s = cell.before_s + FEWEST_SESSIONS * cell.session_s
                if self.is_sweep and self._aims_at_precision:
                    needed_s /= 1 - MOST_FOR_WINNERS
                cell.interval_budget_s = math.ceil(INTERVAL_MARGIN * needed_s)

    # ------------------------------------------------------------ progress

    def _make_progress(self, cell: Cell) -> Progress:
        """Units done of units planned. The share that is done never falls; it leaps if cells stop
        early."""
        states = tuple(map(self._make_cell_progress, self._cells))
        now = states[cell.number]
        return Progress(
            units_done=self._done,
            units_planned=self._count_planned_units(),
            doing=f"checking {cell.name}" if self._are_rounds_over else cell.name,
            estimate_s=now.estimate_s,
            relative_half_width=now.relative_half_width,
            remaining_s=self._remaining_s(cell),
            cells=states,
        )

    def _count_planned_units(self) -> int:
        checks = self._checks if self._are_rounds_over else self._expected_checks()
        units = self._done + checks + sum(map(self._sessions_left, self._open_cells()))
        return self._steady.planned(self._done, units)

    def _expected_checks(self) -> int:
        """A winner's fresh sessions, unless it is known that there will be no time for them."""
        if not (self.is_sweep and self._aims_at_precision):
            return 0
        is_known = any(cell.units for cell in self._cells)
        return FRESH_SESSIONS if self._for_winners_s() or not is_known else 0

    def _open_cells(self) -> list[Cell]:
        return [] if self._are_rounds_over else [c for c in self._cells if not c.is_over]

    def _sessions_left(self, cell: Cell) -> int:
        """Until its budget is spent, at the pace so far."""
        if self._spec.iterations is not None:
            return 1
        if not cell.units:
            return planned_units(self._spec, 1)
        left_s = self._budget_s(cell) - cell.used_s
        return max(1, int(left_s / max(cell.session_s, 1e-9)))

    def _remaining_s(self, cell: Cell) -> float | None:
        """At most; a winner's fresh sessions take about as long as those of this cell."""
        if self._spec.iterations is not None:
            return None
        if self._are_rounds_over:
            return self._checks * cell.session_s
        of_rounds = sum(max(0.0, self._budget_s(c) - c.used_s) for c in self._open_cells())
        return of_rounds + self._for_winners_s()

    def _make_cell_progress(self, cell: Cell) -> CellProgress:
        """Cached, since only one cell of a sweep has changed."""
        as_of = len(cell.units), id(cell.units[-1]) if cell.units else 0, cell.is_over
        before, state = self._states.get(cell.number, (None, None))
        if state is None or before != as_of:
            state = cell_progress(cell)
            self._states[cell.number] = as_of, state
        return state


def session_plan(spec: BenchmarkSpec) -> SessionPlan:
    budget = spec.budget
    return SessionPlan(
        min_time_s=budget.session_s,
        max_time_s=max(budget.session_s, 0.4 * budget.seconds),
        warmup_limit_s=min(2.0, 0.2 * budget.seconds),
        warmup_calls=spec.warmup_calls,
        calls_per_sample=1 if spec.per_call else None,
        iterations=spec.iterations,
    )


def planned_units(spec: BenchmarkSpec, cells: int) -> int:
    if spec.iterations is not None:
        return cells
    return cells * spec.budget.processes * spec.budget.sessions_per_process


def cell_progress(cell: Cell) -> CellProgress:
    from modeldyno.measure.stopping import relative_width

    typicals = [unit.typical_s for unit in cell.units]
    width = relative_width(typicals) if len(typicals) >= FEWEST_SESSIONS else None
    return CellProgress(
        name=cell.name,
        sessions=len(cell.units),
        state="failed" if cell.error else "done" if cell.stop_reason else "measuring",
        estimate_s=sorted(typicals)[len(typicals) // 2] if typicals else None,
        relative_half_width=sensible_width(width),
    )


def expected_s(spec: BenchmarkSpec, cells: Iterable[CellSpec]) -> float:
    """Roughly how long these cells take, the fresh sessions of winners included."""
    return sum(budget_s(spec, cell) for cell in cells)


def budget_s(spec: BenchmarkSpec, cell: CellSpec) -> float:
    """What a cell may take: its budget, or the fewest repetitions of instances."""
    window_s = QUICK_WINDOW_S if spec.budget.name == "quick" else WINDOW_S
    each_s = 2 * window_s  # with one instance alone, and loading
    return max(spec.budget.seconds, _fewest_units(spec, cell) * each_s)


def _fewest_units(spec: BenchmarkSpec, cell: CellSpec) -> int:
    """Repetitions before time may end a cell: each gives a single rate of all instances."""
    if cell.instances == 1:
        return 0
    return FEWEST_QUICK_REPETITIONS if spec.budget.name == "quick" else FEWEST_REPETITIONS
