"""What came out: estimates with their intervals, and how far to trust them. Seconds throughout."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args

from modeldyno.core.deviations import Deviation, find_deviations
from modeldyno.core.errors import ModeldynoError
from modeldyno.core.hosts import HostFacts, HostWeather
from modeldyno.core.ids import RunId
from modeldyno.core.models import ModelFacts
from modeldyno.core.names import without_private_copies
from modeldyno.core.requests.axes import with_effective_settings
from modeldyno.core.runs import Artifact
from modeldyno.core.sessions import (
    CallContract,
    DecoderCall,
    Memory,
    Parity,
    SandboxReport,
    SessionFacts,
)
from modeldyno.core.specs import BenchmarkSpec, CellSpec, ComparisonSpec, ProfileSpec

if TYPE_CHECKING:
    from modeldyno.core.documents.cells import CellDocument
    from modeldyno.core.documents.figures import Figure
    from modeldyno.core.documents.runnables import SummaryDocument
    from modeldyno.core.profiles import ProfileRow
    from modeldyno.core.roofline import PeaksOf

CellStatus = Literal["done", "partial", "failed"]
Noise = Literal["quiet", "noisy", "contended", "unusable"]
StopReason = Literal["precise", "budget", "flat", "fixed", "outraced", "aborted"]
Objective = Literal["latency", "throughput"]
OBJECTIVES: tuple[Objective, ...] = get_args(Objective)
Verdict = Literal["faster", "slower", "equivalent", "different-but-small", "inconclusive"]
Statistic = Literal["wall p10", "cpu p25"]
Gate = Literal["pass", "fail", "inconclusive"]  # of --fail-if-slower

DECISIVE = "floor"  # the level that verdicts go by, in a word
FEWEST_SESSIONS = 4  # below it, what differs between sessions cannot be known
SLOW = 0.8  # of a machine's usual speed; boost clocks and temperature move it by less


@dataclass(frozen=True)
class Repeat:
    """The interval to expect if the same figure is measured again later on the same machine."""

    low: float
    high: float
    level: float
    runs: int  # earlier ones that it rests on, besides this one

    @property
    def half_width(self) -> float:
        return (self.high - self.low) / 2


@dataclass(frozen=True)
class Estimate:
    """A value and the interval that covers the truth at ``level``; ``units`` is what n counts."""

    value: float
    low: float
    high: float
    level: float
    n: int
    units: Literal["sessions", "samples", "pairs", "processes"]
    repeat: Repeat | None = None  # None: unknown, or not worth repeating

    @property
    def is_over_units(self) -> bool:
        """Whether the interval is over repetitions, rather than the spread within sessions."""
        return self.units != "samples"

    @property
    def inverse(self) -> Estimate:
        """The inverse of a ratio."""
        return replace(self, value=1 / self.value, low=1 / self.high, high=1 / self.low)

    @property
    def half_width(self) -> float:
        """Half the interval, in the value's own unit."""
        return (self.high - self.low) / 2

    @property
    def relative(self) -> float:
        """Half the interval as a share of the value."""
        return self.half_width / self.value if self.value else float("inf")


def gate_outcome(ratio: Estimate, allowed: float) -> Gate:
    """Whether B is at most ``allowed`` slower than A; ``ratio`` is B's time divided by A's."""
    if ratio.low > 1 + allowed:
        return "fail"
    return "pass" if ratio.high <= 1 + allowed else "inconclusive"


@dataclass(frozen=True)
class Tail:
    """A percentile, or how many samples it would take to know it."""

    quantile: float
    value: float | None
    low: float | None
    high: float | None
    samples_needed: int | None  # when the value is None


@dataclass(frozen=True)
class Latency:
    """Seconds per call of a whole batch."""

    floor: Estimate  # p10 of a session's samples: what the work costs
    typical: Estimate  # the median: what a caller sees
    mean_s: float
    stdev_s: float | None  # None of a single sample
    min_s: float
    p90: Tail
    p95: Tail
    p99: Tail
    outlier_share: float  # samples above 1.5 × floor; counted, never removed
    largest_s: float

    @property
    def decisive(self) -> Estimate:
        """The figure that decides verdicts: other work on the machine hardly affects it."""
        return self.floor


@dataclass(frozen=True)
class Failure:
    code: str
    title: str
    why: str = ""
    fix: str = ""

    @classmethod
    def of(cls, error: ModeldynoError) -> Failure:
        title, why = map(without_private_copies, (error.title, error.why))
        return cls(error.code, title, why, error.fix)


@dataclass(frozen=True)
class SideBySide:
    """The work of several instances of a cell that run at the same time."""

    total_per_s: Estimate  # items, in the window in which all of them worked
    scaling: Estimate | None  # times what one instance did with the others idle
    fairness: float  # the slowest instance's share of the quickest one's work
    items_per_cpu_s: float
    expected_contention: float  # threads per CPU, when there are more threads than CPUs
    oversubscribed: bool


@dataclass(frozen=True)
class MachineSpeed:
    """How fast the machine was while a cell was measured, by a fixed piece of work."""

    work_s: float  # that it took: the median over sessions
    share: float | None = None  # of the usual speed of this machine; None: too few earlier runs
    runs: int = 0  # earlier ones that know what is usual

    @property
    def is_slow(self) -> bool:
        return self.share is not None and self.share < SLOW


@dataclass(frozen=True)
class Measurement:
    """The numbers of one cell."""

    latency: Latency
    throughput_per_s: float
    cpu_s: float | None  # all threads, per call
    load_s: float
    first_inference_s: float
    memory: Memory | None
    samples: int
    sessions: int
    processes: int
    warmup_calls: int
    calls_per_sample: int
    overhead_share: float
    preempted_share: float
    stop_reason: StopReason
    contention: float | None
    contention_source: Literal["cpu-time", "pressure"] | None
    noise: Noise
    reasons: tuple[str, ...]  # why the verdict is what it is
    steady: bool
    trend: bool
    parity: Parity | None
    device_s: float | None = None  # per call, by the device's own clock
    energy_j_per_item: float | None = None
    energy_note: str = ""  # what was metered, or why nothing was
    side_by_side: SideBySide | None = None  # of several instances
    cores_used: float | None = None  # CPU time of all threads over wall time, per instance
    throughput: Estimate | None = None  # items per second over sessions; None of too few
    page_faults: float | None = None  # per call, of all threads; None where nobody counts them
    interval_budget_s: float | None = None  # with which it would have had an interval
    machine_speed: MachineSpeed | None = None  # None if no session read it


@dataclass(frozen=True)
class CellResult:
    """The result of one cell; a failed cell may still have a measurement."""

    model: str
    spec: CellSpec
    status: CellStatus
    batch_size: int  # as it really ran
    facts: SessionFacts | None = None
    measurement: Measurement | None = None
    error: Failure | None = None
    notes: tuple[str, ...] = ()
    mismatches: tuple[str, ...] = ()  # to the first cell: what keeps it out of the ranking
    parity: Parity | None = None  # to the first cell with that batch size; its own is None
    sandbox: SandboxReport | None = None
    input_shapes: dict[str, tuple[int, ...]] = field(default_factory=dict)  # as it was fed
    guessed_inputs: tuple[str, ...] = ()  # those with a size that nobody gave
    surprises: tuple[Deviation, ...] = ()  # where it deviates from the request
    decoder_call: DecoderCall | None = None  # of a decoder with a cache

    @property
    def items(self) -> int:
        """Of one call."""
        return self.facts.items(self.batch_size) if self.facts else self.batch_size

    @property
    def name(self) -> str:
        """In words, with its actual batch size."""
        return replace(self.spec, batch_size=self.batch_size).name

    @property
    def is_noisy(self) -> bool:
        return self.measurement is not None and self.measurement.noise != "quiet"

    @property
    def is_unusable(self) -> bool:
        return self.measurement is not None and self.measurement.noise == "unusable"

    @property
    def ran(self) -> CellSpec:
        """As it actually ran, as far as known."""
        return with_effective_settings(self.spec, self.batch_size, self.facts)

    @property
    def contract(self) -> CallContract:
        """Of the calls that were measured."""
        return (self.facts.contract if self.facts else None) or self.spec.contract


@dataclass(frozen=True)
class Standing:
    """The best cell by one figure, and every cell without a clear difference from it."""

    leader: int
    tied: tuple[int, ...]  # the leader included, in order of cells

    @property
    def has_winner(self) -> bool:
        return len(self.tied) == 1


Standings = dict[Objective, Standing]


class RunResult:
    """The result of a run: what all kinds have in common. Most are about one model and have no
    cells."""

    run_id: RunId
    created_at: str
    tool_version: str
    spec: Any  # of its kind
    model: ModelFacts
    host: HostFacts
    weather: HostWeather
    interrupted: bool
    artifacts: tuple[Artifact, ...]  # files that the run left; known once it ended
    has_cells: ClassVar[bool] = False  # several such results share one table of all cells

    def models(self) -> tuple[ModelFacts, ...]:
        """In the order of the models of its spec."""
        return (self.model,)

    def document(self, peaks_of: PeaksOf | None = None) -> Any:
        """What ``--json`` prints; ``peaks_of`` finds the peak rates of a machine."""
        raise NotImplementedError

    def to_json(self, path: str | Path | None = None) -> str:
        """The document that ``--json`` prints."""
        from modeldyno.core.documents.described import json_text
        from modeldyno.core.exports import write_if_given_path

        return write_if_given_path(json_text(self.document()), path)

    def to_csv(self, path: str | Path | None = None) -> str:
        """For a spreadsheet."""
        raise NotImplementedError

    def headline(self) -> str:
        """The number, or why there is none."""
        raise NotImplementedError

    def latency_ms(self) -> Figure | None:
        """Typical time of a call, of the quickest cell; None if there is none."""
        return None

    def compared(self) -> ComparisonResult | None:
        """Itself, if it is a comparison."""
        return None

    def profile_rows(self, run_id: RunId) -> tuple[ProfileRow, ...]:
        """The rows of nodes that the database keeps."""
        return ()

    def summary(self) -> SummaryDocument:
        """The figures that lists show."""
        raise NotImplementedError

    def cell_documents(self) -> tuple[CellDocument, ...]:
        """The public documents of its cells."""
        return ()

    def deviations(self) -> list[str]:
        """``onnxruntime · 2 cores · batch 1: asked for fp32, computed in bf16``."""
        return []

    @property
    def has_failed(self) -> bool:
        """Whether nothing was measured; ``failure`` says why."""
        return False

    def failure(self) -> Failure | None:
        return None


@dataclass(frozen=True)
class BenchmarkResult(RunResult):
    run_id: RunId
    created_at: str
    tool_version: str
    spec: BenchmarkSpec
    model: ModelFacts
    host: HostFacts
    weather: HostWeather
    cells: tuple[CellResult, ...]
    standings: Standings = field(default_factory=dict)  # if all cells compute the same …
    interrupted: bool = False
    artifacts: tuple[Artifact, ...] = ()
    standings_by_workload: tuple[Standings, ...] = ()  # … else of those that do

    has_cells: ClassVar[bool] = True

    @classmethod
    def upgraded(cls, stored: Any) -> Any:
        """Earlier versions stored sizes of open dimensions once, with the model."""
        match stored:
            case {"spec": {"model": {"dims": dict() as dims}}, "cells": [*cells]}:
                return stored | {"cells": [_add_sizes(cell, dims) for cell in cells]}
        return stored

    def all_standings(self) -> list[tuple[Objective, Standing]]:
        rankings = (self.standings, *self.standings_by_workload)
        return [pair for standings in rankings for pair in standings.items()]

    def __repr__(self) -> str:
        from modeldyno.present.plain import benchmark_name

        return benchmark_name(self)

    def __str__(self) -> str:
        """The table of the terminal."""
        from modeldyno.present.plain import benchmark_text

        return benchmark_text(self)

    def document(self, peaks_of: PeaksOf | None = None) -> Any:
        from modeldyno.core.documents.benchmarks import BenchmarkDocument

        return BenchmarkDocument.of(self)

    def to_csv(self, path: str | Path | None = None) -> str:
        """One line per cell."""
        from modeldyno.core.documents.benchmarks import benchmarks_csv
        from modeldyno.core.exports import write_if_given_path

        return write_if_given_path(benchmarks_csv([self]), path)

    def _repr_html_(self) -> str:
        from modeldyno.present.tables import benchmark_html

        return benchmark_html(self)

    @property
    def has_failed(self) -> bool:
        return all(cell.status == "failed" for cell in self.cells)

    def failure(self) -> Failure | None:
        """Of the first cell that failed."""
        return next((cell.error for cell in self.cells if cell.error), None)

    def headline(self) -> str:
        from modeldyno.core.runs import benchmark_headline

        return benchmark_headline(self)

    def latency_ms(self) -> Figure | None:
        from modeldyno.core.documents.figures import Figure
        from modeldyno.core.runs import find_quickest_cell

        cell = find_quickest_cell(self)
        measured = cell.measurement if cell else None
        return Figure.of_estimate(measured.latency.typical, 1e3) if measured else None

    def summary(self) -> SummaryDocument:
        from modeldyno.core.documents.cells import CellDocument
        from modeldyno.core.documents.runnables import SummaryDocument
        from modeldyno.core.runs import find_quickest_cell

        best = find_quickest_cell(self)
        if best is None:
            return SummaryDocument.of_spec(self.spec)
        return SummaryDocument.of_cell(CellDocument.of(0, best))

    def cell_documents(self) -> tuple[CellDocument, ...]:
        from modeldyno.core.documents.cells import CellDocument

        return tuple(CellDocument.of(number, cell) for number, cell in enumerate(self.cells))

    def deviations(self) -> list[str]:
        return [
            f"{cell.spec.name}: {deviation.text}"
            for cell in self.cells
            for deviation in cell.surprises
        ]


def _add_sizes(cell: Any, dims: dict[str, Any]) -> Any:
    match cell:
        case {"spec": dict() as spec}:
            return cell | {"spec": {"dims": dims} | spec}
    return cell


@dataclass(frozen=True)
class SideResult:
    """One side of a comparison; its levels are for orientation, the ratio is the result."""

    label: str
    spec: CellSpec
    model: ModelFacts
    facts: SessionFacts
    floor_s: float
    typical_s: float
    batch_size: int
    sandbox: SandboxReport | None = None
    output_deviations: tuple[Deviation, ...] = ()
    notes: tuple[str, ...] = ()  # what was guessed or adjusted of its inputs and call

    @property
    def surprises(self) -> tuple[Deviation, ...]:
        deviations = find_deviations(self.spec, self.model, self.facts)
        return (*deviations, *self.output_deviations)

    @property
    def items(self) -> int:
        """Of one call."""
        return self.facts.items(self.batch_size)

    @property
    def ran(self) -> CellSpec:
        """As read back from the engine; without a precision if it does not report one."""
        ran = with_effective_settings(self.spec, self.batch_size, self.facts)
        return replace(ran, precision=self.facts.precision)

    @property
    def contract(self) -> CallContract:
        """Of the calls that were measured."""
        return self.facts.contract or self.spec.contract


@dataclass(frozen=True)
class ComparisonResult(RunResult):
    """time(B) / time(A) with its interval."""

    run_id: RunId
    created_at: str
    tool_version: str
    spec: ComparisonSpec
    verdict: Verdict
    ratio: Estimate
    statistic: Statistic
    a: SideResult
    b: SideResult
    pairs: int
    processes: int
    process_share: float  # of the variance that sits between processes
    contention: float | None
    noise: Noise
    typical_ratio: Estimate
    distribution_changed: bool
    pairs_needed: int | None  # to decide an inconclusive verdict
    parity: Parity | None
    host: HostFacts
    weather: HostWeather
    notes: tuple[str, ...] = ()
    interrupted: bool = False
    artifacts: tuple[Artifact, ...] = ()

    @property
    def gate(self) -> Gate | None:
        """Outcome of the gate it was measured for; None without one."""
        allowed = self.spec.fail_if_slower
        return None if allowed is None else gate_outcome(self.ratio, allowed)

    def assert_not_slower(self, allowed: float = 0.05) -> None:
        """Raise AssertionError unless B is known to be at most ``allowed`` slower than A.

        For use in pytest. Inconclusive does not pass: measure longer.
        """
        from modeldyno.core.sentences import not_slower_complaint

        complaint = not_slower_complaint(self, allowed)
        if complaint:
            raise AssertionError(complaint)

    def __repr__(self) -> str:
        from modeldyno.present.plain import comparison_name

        return comparison_name(self)

    def __str__(self) -> str:
        """The table and the sentence of the terminal."""
        from modeldyno.present.plain import comparison_text

        return comparison_text(self)

    def document(self, peaks_of: PeaksOf | None = None) -> Any:
        from modeldyno.core.documents.comparisons import ComparisonDocument

        return ComparisonDocument.of(self)

    def to_csv(self, path: str | Path | None = None) -> str:
        """One line: verdict, ratio and interval."""
        from modeldyno.present.tables import comparison_csv

        return comparison_csv(self, path)

    def _repr_html_(self) -> str:
        from modeldyno.present.tables import comparison_html

        return comparison_html(self)

    def models(self) -> tuple[ModelFacts, ...]:
        return self.a.model, self.b.model

    def headline(self) -> str:
        from modeldyno.core.sentences import comparison_sentence

        return comparison_sentence(self)

    def compared(self) -> ComparisonResult:
        return self

    def summary(self) -> SummaryDocument:
        from modeldyno.core.documents.runnables import SummaryDocument

        return SummaryDocument.of_comparison(self)

    def deviations(self) -> list[str]:
        sides = (("A", self.a), ("B", self.b))
        return [f"{name}: {each.text}" for name, side in sides for each in side.surprises]


@dataclass(frozen=True)
class NodeResult:
    """The part of a call's time that one node takes; seconds per call of the model."""

    node: str
    op_type: str
    provider: str  # that ran it
    total_s: float  # without what the profiler added
    told_s: float  # as recorded by the profiler; results on disk have this name
    accelerator_s: float | None = None
    calls: int = 1  # in one call of the model
    ci95_s: tuple[float, float] | None = None  # of the total, over repeats; None: too few
    flop: float | None = None  # in one call of the model; None: not known
    moved_bytes: float | None = None  # read and written
    parts: tuple[str, ...] = ()  # names of the model's nodes that it was made of, if reported
    unknown: str = ""  # why ``total_s`` is not to be shown; it still belongs to sums

    @property
    def cpu_s(self) -> float:
        return max(0.0, self.total_s - (self.accelerator_s or 0.0))


@dataclass(frozen=True)
class ProfileResult(RunResult):
    """Where a model spends its time; ``rows`` and ``outside_s`` add up to the latency."""

    run_id: RunId
    created_at: str
    tool_version: str
    spec: ProfileSpec
    model: ModelFacts
    host: HostFacts
    weather: HostWeather
    facts: SessionFacts
    batch_size: int  # as it really ran
    contract: CallContract
    latency_s: float  # typical, of a call without the profiler
    floor_s: float
    profiled_s: float  # typical, with it
    sum_s: float  # of all rows
    told_s: float  # of all rows, as recorded by the profiler
    outside_s: float  # of the latency, in no node
    event_cost_s: float  # subtracted from a node for each event recorded in it
    scale: float  # of all nodes alike, after that: the machine's speed varied
    coverage: float  # the sum divided by the latency
    rows: tuple[NodeResult, ...]  # in the order in which they ran
    repeats: int
    calls: int  # of the model, behind the rows
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    sandbox: SandboxReport | None = None
    interrupted: bool = False
    artifacts: tuple[Artifact, ...] = ()
    ci95_s_by_op: dict[str, tuple[float, float]] = field(default_factory=dict)  # of their totals
    # Of "latency", "sum" and "outside".
    ci95_s_by_figure: dict[str, tuple[float, float]] = field(default_factory=dict)
    unknown_by_op: dict[str, str] = field(default_factory=dict)  # as ``NodeResult.unknown``
    noise: Noise | None = None  # None: profiled by an earlier version
    reasons: tuple[str, ...] = ()  # why the verdict is what it is

    @property
    def surprises(self) -> tuple[Deviation, ...]:
        return find_deviations(self.spec.cell, self.model, self.facts)

    def __repr__(self) -> str:
        return (
            f"<ProfileResult {self.run_id}: {len(self.rows)} nodes, {self.latency_s * 1e3:.3g} ms>"
        )

    def __str__(self) -> str:
        """The table of the terminal, by operator."""
        from modeldyno.present.profile_tables import profile_text

        return profile_text(self)

    def document(self, peaks_of: PeaksOf | None = None) -> Any:
        from modeldyno.core.documents.profiles import ProfileDocument

        return ProfileDocument.of(self, peaks_of(self.host.fingerprint) if peaks_of else None)

    def to_csv(self, path: str | Path | None = None) -> str:
        """One line per node, and one for the time outside of nodes."""
        from modeldyno.present.profile_tables import node_csv

        return node_csv(self, path)

    def _repr_html_(self) -> str:
        from modeldyno.present.profile_tables import profile_html

        return profile_html(self)

    def headline(self) -> str:
        from modeldyno.core.sentences import profile_sentence

        return profile_sentence(self)

    def latency_ms(self) -> Figure | None:
        from modeldyno.core.documents.figures import Figure

        interval = self.ci95_s_by_figure.get("latency")
        return Figure.of_span(self.latency_s, interval, self.repeats)

    def profile_rows(self, run_id: RunId) -> tuple[ProfileRow, ...]:
        from modeldyno.core.profiles import rows_of

        return rows_of(run_id, self)

    def summary(self) -> SummaryDocument:
        from modeldyno.core.documents.runnables import SummaryDocument

        return SummaryDocument.of_profile(self)

    def deviations(self) -> list[str]:
        return [deviation.text for deviation in self.surprises]
