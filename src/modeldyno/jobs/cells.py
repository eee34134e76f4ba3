"""The state of one cell of a benchmark while it is measured."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

from modeldyno.core.deviations import Deviation, find_deviations, output_deviations
from modeldyno.core.errors import Cancelled, ModelChanged, ModeldynoError
from modeldyno.core.hosts import HostWeather
from modeldyno.core.models import ModelFacts
from modeldyno.core.results import (
    FEWEST_SESSIONS,
    CellResult,
    CellStatus,
    Failure,
    StopReason,
)
from modeldyno.core.sessions import SandboxReport, Session, SessionFacts, with_examined_facts
from modeldyno.core.specs import CellSpec
from modeldyno.inputs.plans import TensorPlan
from modeldyno.jobs.leases import wait_note
from modeldyno.jobs.preparation import Prepared


@dataclass(frozen=True)
class MeasuredUnit:
    """A session, with the process it ran in and the round of the sweep it belongs to.

    Its figures are cached: after each session, those of all earlier ones are needed again.
    """

    process: int
    round: int
    session: Session
    wall_s: float = 0.0  # of the budget, the start of its process included

    @property
    def floor_s(self) -> float:
        return self._levels[0]

    @property
    def typical_s(self) -> float:
        return self._levels[1]

    @cached_property
    def call_s(self) -> float:
        """From the wall time of all calls."""
        from modeldyno.measure.benchmark import seconds_per_call

        return seconds_per_call(self.session)

    @cached_property
    def _levels(self) -> tuple[float, float]:
        from modeldyno.measure.benchmark import floor_and_typical

        return floor_and_typical(self.session)


@dataclass
class Cell:
    number: int
    spec: CellSpec
    prepared: Prepared | None = None
    units: list[MeasuredUnit] = field(default_factory=list)
    used_s: float = 0.0  # of the budget and of the timeout, process starts included
    before_s: float = 0.0  # of these, before the first session: reading the model, trying the cell
    trial_s: float = 0.0  # of these, loading the model and running it once
    start_s: float = 0.0  # what starting a process took
    check_s: float = 0.0  # its part of checking the model in the end, about
    interval_budget_s: float | None = None  # with which it would have had an interval
    waited_s: float = 0.0  # for cores; outside of every budget
    stop_reason: StopReason | None = None
    error: ModeldynoError | None = None
    notes: tuple[str, ...] = ()
    mismatches: tuple[str, ...] = ()  # why it must not be ranked with the others
    sandbox: SandboxReport | None = None

    @property
    def is_over(self) -> bool:
        return self.stop_reason is not None or self.error is not None

    @property
    def is_running(self) -> bool:
        """Whether it works as far as we know: it ran once, and nothing has failed since."""
        return self.prepared is not None and self.error is None

    @property
    def sessions(self) -> list[Session]:
        return [unit.session for unit in self.units]

    @property
    def session_s(self) -> float:
        """About what another one will take; the first had to start its process."""
        later = self.units[1:] or self.units
        return sum(unit.wall_s for unit in later) / max(1, len(later))

    @property
    def batch_size(self) -> int:
        return self.prepared.batch_size if self.prepared else self.spec.batch_size

    @property
    def items(self) -> int:
        """Of one call."""
        return self.prepared.items if self.prepared else self.spec.items

    @property
    def name(self) -> str:
        return self.spec.name

    def note(self, text: str) -> None:
        """Add a note, unless it is there already."""
        if text and text not in self.notes:
            self.notes += (text,)

    def floors(self) -> dict[int, float]:
        """Seconds per call by round; the latest, if a round was repeated."""
        return {unit.round: unit.floor_s for unit in self.units}

    def seconds_per_item(self) -> dict[int, float]:
        """By round, from the wall time of all calls: the basis of the throughput."""
        return {unit.round: unit.call_s / self.items for unit in self.units}

    def canaries(self) -> dict[int, float]:
        return {u.round: u.session.canary_s for u in self.units if u.session.canary_s is not None}

    def result(
        self, model: ModelFacts, weather: HostWeather, stopped: ModeldynoError | None
    ) -> CellResult:
        from modeldyno.measure.benchmark import MeasuredSession, summarise

        error = self.error
        if error is None and (self.stop_reason is None or isinstance(stopped, ModelChanged)):
            error = stopped
        measurement = None
        if self.units and (self.stop_reason is not None or len(self.units) >= FEWEST_SESSIONS):
            units = [MeasuredSession(unit.process, unit.session) for unit in self.units]
            reason = self.stop_reason or "aborted"
            measurement = summarise(units, self.items, reason, weather, self.spec.cores)
            measurement = replace(measurement, interval_budget_s=self.interval_budget_s)
        facts = self._session_facts()
        return CellResult(
            model=model.path,
            spec=self.spec,
            status=_cell_status(error, measured=measurement is not None),
            batch_size=self.batch_size,
            facts=facts,
            measurement=measurement,
            error=Failure.of(error) if error else None,
            notes=(*self.notes, *filter(None, [wait_note(self.waited_s)])),
            mismatches=self.mismatches,
            parity=self.prepared.parity if self.prepared else None,
            sandbox=self.sandbox,
            input_shapes={tensor.name: tensor.shape for tensor in self._synthetic_inputs()},
            guessed_inputs=tuple(t.name for t in self._synthetic_inputs() if t.is_guessed),
            surprises=self._deviations(model, facts) if facts else (),
            decoder_call=self.prepared.inputs.decoder_call if self.prepared else None,
        )

    def _deviations(self, model: ModelFacts, facts: SessionFacts) -> tuple[Deviation, ...]:
        outputs = output_deviations([session.unusual_outputs for session in self.sessions])
        return (*find_deviations(self.spec, model, facts), *outputs)

    def _synthetic_inputs(self) -> tuple[TensorPlan, ...]:
        """The user's own arrays have other shapes."""
        if self.prepared is None or self.prepared.inputs.data is not None:
            return ()
        return self.prepared.inputs.tensors

    def _session_facts(self) -> SessionFacts | None:
        """What the measured sessions reported, with the precision that was examined before."""
        if self.prepared is None or not self.units:
            return self.prepared.facts if self.prepared else None
        return with_examined_facts(self.sessions[0].facts, self.prepared.facts)


def _cell_status(error: ModeldynoError | None, measured: bool) -> CellStatus:
    if error is None:
        return "done"
    return "partial" if measured and isinstance(error, Cancelled) else "failed"
