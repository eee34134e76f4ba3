"""A profile: where a model spends its time, node by node or by operator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from modeldyno.core.codec import Mismatch, decode
from modeldyno.core.ids import DatasetId, ModelId, ProfileId, ProjectId, RunId
from modeldyno.core.node_work import Operands
from modeldyno.core.results import ProfileResult
from modeldyno.core.roofline import Held, Roof, compare_to_roof
from modeldyno.core.runs import Runnable
from modeldyno.core.sessions import CallContract, SessionFacts, Timings, UnitContent
from modeldyno.core.specs import ProfileSpec

MOST_NODES = 20_000  # of a trace; the rest become one
OTHERS = "(other nodes)"


@dataclass(frozen=True)
class NodeTime:
    """A node, in all calls of the trace together."""

    node: str
    op_type: str
    provider: str
    self_ns: int  # without nested nodes, so that nothing counts twice; without interruptions
    events: int  # recorded: how often it ran
    inner: int = 0  # events of nested nodes, whose recording takes time of this one
    device_ns: int | None = None  # on an accelerator, by its own clock
    operands: Operands | None = None  # of one execution; None: not recorded, or not always the same
    parts: tuple[str, ...] = ()  # names of the model's nodes that this one was made of


@dataclass(frozen=True)
class Trace:
    nodes: tuple[NodeTime, ...]
    calls: int  # of the model, that were recorded
    outer: int  # top-level events, in all calls together
    most_event_ns: int  # what recording an event may cost at the most, on any machine
    # What it cost right after these calls, with nodes that compute nothing; None: not measured.
    event_ns: int | None = None
    cut_off_ns: int = 0  # of each event, added for what rounding down loses on average
    is_mean: bool = False  # calls cannot be told apart: interruptions are in the nodes' times


@dataclass(frozen=True)
class ProfilePlan:
    """How long to measure one repeat: with the profiler, and as long without."""

    min_time_s: float = 0.25
    fewest_calls: int = 5
    most_calls: int = 2_000
    turns: int = 4  # of each, one after the other
    gap_s: float = 0.0  # pause before each, so that the other's spinning threads go to sleep
    warmup_limit_s: float = 0.5


@dataclass(frozen=True)
class ProfileRepeat(UnitContent):
    """One fresh session beside another under the profiler, called in turns."""

    facts: SessionFacts
    load_s: float
    contract: CallContract  # as called: an engine may lack the requested one
    plain_ns: tuple[int, ...]  # of each call without the profiler, half of them before, half after
    profiled_ns: tuple[int, ...]  # of each call with it
    trace: Trace
    bare_ns: int | None = None  # of a call that computes nothing, if the engine has one
    block_wall_ns: int = 0  # around all turns without the profiler; 0: an earlier version's
    block_cpu_ns: int = 0  # of the calling thread
    steady: bool = True  # warm-up ended after the latency had settled
    kind: Literal["repeat"] = "repeat"

    def timings(self) -> tuple[Timings, ...]:
        return Timings("plain", 1, self.plain_ns), Timings("profiled", 1, self.profiled_ns)


AGREES = (0.9, 1.1)  # the sum of nodes divided by the latency


@dataclass(frozen=True, kw_only=True)
class NewProfile:
    project_id: ProjectId
    model_id: ModelId
    name: str
    dataset_id: DatasetId | None = None
    settings: dict[str, Any] = field(default_factory=dict)  # a ProfileSpec, as in spec.json
    fingerprint: str | None = None


@dataclass(frozen=True, kw_only=True)
class Profile(Runnable, NewProfile):
    id: ProfileId
    modified_at: datetime | None = None

    @property
    def spec(self) -> ProfileSpec:
        """Raises Mismatch for settings of another version."""
        decoded: ProfileSpec = decode(ProfileSpec, self.settings)
        return decoded


@dataclass(frozen=True, kw_only=True)
class ProfileRow:
    """A node of the graph in one run; times cover all its calls in one call of the model. Which of
    them are unknown is in the run's result."""

    run_id: RunId
    number: int
    node: str
    op_type: str
    total_s: float
    cpu_s: float | None = None
    accelerator_s: float | None = None
    calls: int = 1
    defined: int = 1
    flop: float | None = None  # None: not known
    moved_bytes: float | None = None

    @property
    def key(self) -> int:
        return self.number


@dataclass(frozen=True, kw_only=True)
class OpTypeRow:
    """All nodes of one operator type together."""

    op_type: str
    nodes: int
    total_s: float
    cpu_s: float | None
    accelerator_s: float | None
    calls: int
    defined: int
    flop: float | None = None  # None: not known for all of them
    moved_bytes: float | None = None

    @property
    def key(self) -> str:
        return self.op_type


UnknownTimes = Mapping[int | str, str]  # why, by the key of a row


def unknown_times(result: ProfileResult) -> UnknownTimes:
    unknown: dict[int | str, str] = {op: why for op, why in result.unknown_by_op.items()}
    for number, row in enumerate(result.rows):
        if row.unknown:
            unknown[number] = row.unknown
    return unknown


@dataclass(frozen=True, kw_only=True)
class OpMicroseconds:
    """The same in whole microseconds; each column adds up to its rounded sum."""

    op_type: str
    total_us: int
    accelerator_us: int
    cpu_us: int
    op_run: int  # calls of such nodes, in one call of the model
    op_defined: int  # nodes


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """How far the rows of a run agree with the latency."""

    run_id: RunId
    nodes: int
    sum_s: float
    latency_s: float | None

    @property
    def outside_s(self) -> float | None:
        return None if self.latency_s is None else max(0.0, self.latency_s - self.sum_s)

    @property
    def coverage(self) -> float | None:
        return self.sum_s / self.latency_s if self.latency_s else None

    @property
    def agrees(self) -> bool | None:
        return None if self.coverage is None else AGREES[0] <= self.coverage <= AGREES[1]


@dataclass(frozen=True, kw_only=True)
class ProfileRowsQuery:
    by: Literal["node", "op"] = "op"
    sort: Literal["time", "graph", "name"] = "time"
    limit: int | None = None  # all
    start: int = 0


@dataclass(frozen=True)
class ProfileRows:
    run_id: RunId
    latency_s: float | None
    rows: tuple[ProfileRow, ...] | tuple[OpTypeRow, ...]
    next: int | None = None  # where the next page starts
    unknown: UnknownTimes = field(default_factory=dict)


def rows_of(run_id: RunId, result: ProfileResult) -> tuple[ProfileRow, ...]:
    """The rows of a result in the database."""
    return tuple(
        ProfileRow(
            run_id=run_id,
            number=number,
            node=row.node,
            op_type=row.op_type,
            total_s=row.total_s,
            cpu_s=row.cpu_s,
            accelerator_s=row.accelerator_s,
            calls=row.calls,
            flop=row.flop,
            moved_bytes=row.moved_bytes,
        )
        for number, row in enumerate(result.rows)
    )


def spec_of(settings: dict[str, Any]) -> ProfileSpec | None:
    """None for settings of another version."""
    try:
        decoded: ProfileSpec = decode(ProfileSpec, settings)
    except Mismatch:
        return None
    return decoded


def in_microseconds(rows: tuple[OpTypeRow, ...]) -> tuple[OpMicroseconds, ...]:
    """Rounding each row by itself would lose a tenth of a model that takes 30 µs."""
    totals = round_to_sum([row.total_s * 1e6 for row in rows])
    on_device = round_to_sum([(row.accelerator_s or 0.0) * 1e6 for row in rows])
    return tuple(
        OpMicroseconds(
            op_type=row.op_type,
            total_us=total,
            accelerator_us=min(device, total),
            cpu_us=total - min(device, total),
            op_run=row.calls,
            op_defined=row.defined,
        )
        for row, total, device in zip(rows, totals, on_device, strict=True)
    )


def round_to_sum(times: list[float]) -> list[int]:
    """Whole numbers that add up to the rounded sum: the largest remainders are rounded up."""
    numbers = [int(time) for time in times]
    left = round(sum(times)) - sum(numbers)
    by_remainder = sorted(range(len(times)), key=lambda i: numbers[i] - times[i])
    for index in by_remainder[:left]:
        numbers[index] += 1
    return numbers


By = Literal["node", "op"]


@dataclass(frozen=True)
class Slice:
    """A node, or all nodes of one operator; seconds of one call of the model."""

    node: str | None  # None: of an operator
    op_type: str
    provider: str
    nodes: int
    calls: int
    total_s: float
    recorded_s: float  # by the profiler, its own cost included
    cpu_s: float
    accelerator_s: float | None
    share: float  # of the latency
    cumulative: float  # with all slower ones
    ci95_s: tuple[float, float] | None = None  # of the total, over repeats
    flop: float | None = None
    moved_bytes: float | None = None
    parts: tuple[str, ...] = ()
    unknown: str = ""  # why neither its time nor what follows from it is to be shown

    def held(self, roof: Roof) -> Held:
        return compare_to_roof(self.flop, self.moved_bytes, self.total_s, roof, self.unknown)


def make_slices(result: ProfileResult, by: By) -> list[Slice]:
    """The slowest first."""
    parts: dict[tuple[Any, ...], list[Any]] = {}
    for number, row in enumerate(result.rows):
        key = (row.op_type,) if by == "op" else (number,)
        parts.setdefault(key, []).append(row)
    merged = sorted(parts.values(), key=lambda rows: -sum(row.total_s for row in rows))
    listed: list[Slice] = []
    cumulative = 0.0
    for rows in merged:
        total = sum(row.total_s for row in rows)
        cumulative += total
        on_device = [row.accelerator_s for row in rows if row.accelerator_s is not None]
        listed.append(
            Slice(
                node=rows[0].node if by == "node" else None,
                op_type=rows[0].op_type,
                provider="+".join(dict.fromkeys(row.provider for row in rows if row.provider)),
                nodes=len(rows),
                calls=sum(row.calls for row in rows),
                total_s=total,
                recorded_s=sum(row.told_s for row in rows),
                cpu_s=sum(row.cpu_s for row in rows),
                accelerator_s=sum(on_device) if on_device else None,
                share=share_of_latency(total, result),
                cumulative=share_of_latency(cumulative, result),
                ci95_s=rows[0].ci95_s if by == "node" else result.ci95_s_by_op.get(rows[0].op_type),
                flop=_sum_of_known([row.flop for row in rows]),
                moved_bytes=_sum_of_known([row.moved_bytes for row in rows]),
                parts=rows[0].parts if by == "node" else (),
                unknown=rows[0].unknown
                if by == "node"
                else result.unknown_by_op.get(rows[0].op_type, ""),
            )
        )
    return listed


def _sum_of_known(parts: Sequence[float | None]) -> float | None:
    """The sum; None unless all are known."""
    return None if None in parts else sum(part or 0.0 for part in parts)


def share_of_latency(seconds: float, result: ProfileResult) -> float:
    return seconds / result.latency_s if result.latency_s else 0.0
