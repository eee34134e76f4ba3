"""From a profiler's trace to where the time goes: its overhead removed, nothing counted twice.

A profiler makes calls longer, short nodes most: every recorded event costs about the same, partly
inside the node, partly around it. Calls without the profiler show how much it adds. What remains
is the machine, which was faster or slower meanwhile; that scales all nodes equally. The figures
are in docs/decisions/0017-profiles.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import fmean, median, stdev

from modeldyno.core.profiles import NodeTime, ProfileRepeat
from modeldyno.core.results import NodeResult
from modeldyno.core.work import work_of
from modeldyno.measure.student import half_interval

LEAST_SHARE = 0.05  # of its recorded time that a node keeps, however much its events cost
WORTH_A_NOTE = 0.1  # of a call, added by the profiler
LEAST_REPEATS = 4  # for an interval: with fewer it would reflect chance more than the model
_FLOOR = 0.1  # quantile
_BISECTIONS = 50  # down to far below a nanosecond


@dataclass(frozen=True)
class Breakdown:
    """Seconds of one call; ``rows`` and ``outside_s`` add up to ``latency_s``."""

    latency_s: float  # typical, without the profiler
    floor_s: float
    profiled_s: float  # typical, with it
    event_cost_s: float  # subtracted from a node for each event in it
    scale: float  # applied to all nodes after that
    recorded_s: float  # of all nodes as the profiler recorded them, before both
    rows: tuple[NodeResult, ...]
    ci95_s_by_op: dict[str, tuple[float, float]]  # empty: too few repeats
    # Of "latency", "sum" (all rows) and "outside" (in no row); empty: too few repeats.
    ci95_s_by_figure: dict[str, tuple[float, float]]

    @property
    def sum_s(self) -> float:
        return sum(row.total_s for row in self.rows)

    @property
    def outside_s(self) -> float:
        return max(0.0, self.latency_s - self.sum_s)

    @property
    def coverage(self) -> float:
        return self.sum_s / self.latency_s if self.latency_s else 0.0


def break_down(repeats: Sequence[ProfileRepeat]) -> Breakdown:
    """An event costs the same in all repeats; the machine's speed differs between them."""
    profiles = [_ProfiledRepeat.of(repeat) for repeat in repeats]
    cost = min(repeats[0].trace.most_event_ns, median(p.event_cost() for p in profiles))
    scales = [profile.scale(cost) for profile in profiles]
    rows: dict[tuple[str, str, str], list[NodeResult]] = {}
    by_op: dict[str, list[float]] = {}
    for number, (profile, scale) in enumerate(zip(profiles, scales, strict=True)):
        for row in profile.rows(cost, scale):
            rows.setdefault((row.node, row.op_type, row.provider), []).append(row)
            by_op.setdefault(row.op_type, [0.0] * len(profiles))[number] += row.total_s
    return Breakdown(
        latency_s=fmean(profile.plain for profile in profiles) / 1e9,
        floor_s=min(profile.floor for profile in profiles) / 1e9,
        profiled_s=fmean(profile.profiled for profile in profiles) / 1e9,
        event_cost_s=cost / 1e9,
        scale=fmean(scales),
        recorded_s=fmean(sum(profile.nodes_ns) for profile in profiles) / 1e9,
        rows=tuple(_mean_row(same_node, len(profiles)) for same_node in rows.values()),
        ci95_s_by_op=_interval_by_name(by_op),
        ci95_s_by_figure=_figure_intervals([p.plain / 1e9 for p in profiles], list(by_op.values())),
    )


def _figure_intervals(
    latencies: Sequence[float], by_op: Sequence[Sequence[float]]
) -> dict[str, tuple[float, float]]:
    sums = [sum(repeat) for repeat in zip(*by_op, strict=True)]
    outside = [max(0.0, whole - part) for whole, part in zip(latencies, sums, strict=True)]
    return _interval_by_name({"latency": latencies, "sum": sums, "outside": outside})


def _interval_by_name(totals: Mapping[str, Sequence[float]]) -> dict[str, tuple[float, float]]:
    """By name; empty if there are too few repeats."""
    intervals = {name: _interval_of(by_repeat) for name, by_repeat in totals.items()}
    return {name: interval for name, interval in intervals.items() if interval is not None}


def _mean_row(same_node: Sequence[NodeResult], repeats: int) -> NodeResult:
    first = same_node[0]
    # A repeat without the node spent no time in it.
    totals = [row.total_s for row in same_node] + [0.0] * (repeats - len(same_node))
    on_device = [row.accelerator_s for row in same_node if row.accelerator_s is not None]
    return NodeResult(
        node=first.node,
        op_type=first.op_type,
        provider=first.provider,
        total_s=sum(totals) / repeats,
        told_s=sum(row.told_s for row in same_node) / repeats,
        accelerator_s=sum(on_device) / repeats if on_device else None,
        calls=round(fmean(row.calls for row in same_node)),
        ci95_s=_interval_of(totals) if len(totals) == repeats else None,
        flop=first.flop,
        moved_bytes=first.moved_bytes,
        parts=first.parts,
    )


def _interval_of(totals: Sequence[float]) -> tuple[float, float] | None:
    """95 % interval of the mean over repeats, which are independent: each is a fresh session."""
    if len(totals) < LEAST_REPEATS:
        return None
    mean, n = fmean(totals), len(totals)
    half = half_interval(0.95, n - 1) * stdev(totals) / sqrt(n)
    return max(0.0, mean - half), mean + half


@dataclass(frozen=True)
class _ProfiledRepeat:
    """One repeat, in nanoseconds per call."""

    nodes: tuple[NodeTime, ...]
    calls: int
    plain: float
    floor: float
    profiled: float
    nodes_ns: list[float]
    weights: list[float]  # number of events whose recording is included in each node
    around: float  # profiled time outside of all nodes …
    around_weight: float  # … and the number of events whose recording is included there
    bare: float | None  # a call that computes nothing

    @classmethod
    def of(cls, repeat: ProfileRepeat) -> _ProfiledRepeat:
        nodes, calls = repeat.trace.nodes, max(1, repeat.trace.calls)
        ranked = sorted(repeat.plain_ns)
        profiled = median(repeat.profiled_ns)
        nodes_ns = [_recorded_ns(node) / calls for node in nodes]
        return cls(
            nodes=nodes,
            calls=calls,
            plain=median(ranked),
            floor=ranked[int(_FLOOR * (len(ranked) - 1))],
            profiled=profiled,
            nodes_ns=nodes_ns,
            weights=[(node.events + node.inner) / calls for node in nodes],
            around=max(0.0, profiled - sum(nodes_ns)),
            around_weight=repeat.trace.outer / calls + 1,
            bare=repeat.bare_ns,
        )

    @property
    def on_device(self) -> bool:
        """Accelerators have their own clock, which the profiler does not disturb."""
        return any(node.device_ns is not None for node in self.nodes)

    def event_cost(self) -> float:
        """The cost at which nodes and the time around them add up to the latency; at least 0."""
        if self.on_device or self._sum_without_overhead_ns(0.0) <= self.plain:
            return 0.0
        low, high = 0.0, max(self.nodes_ns, default=0.0) + self.around
        for _ in range(_BISECTIONS):
            middle = (low + high) / 2
            low, high = (
                (middle, high)
                if self._sum_without_overhead_ns(middle) > self.plain
                else (low, middle)
            )
        return high

    def scale(self, cost: float) -> float:
        corrected = self._sum_without_overhead_ns(cost)
        return 1.0 if self.on_device or not corrected else self.plain / corrected

    def rows(self, cost: float, scale: float) -> list[NodeResult]:
        return [
            self._make_row(node, recorded, weight, cost, scale)
            for node, recorded, weight in zip(self.nodes, self.nodes_ns, self.weights, strict=True)
        ]

    def _make_row(
        self, node: NodeTime, recorded: float, weight: float, cost: float, scale: float
    ) -> NodeResult:
        calls = max(1, round(node.events / self.calls))
        work = work_of(node.op_type, node.operands)
        return NodeResult(
            node=node.node,
            op_type=node.op_type,
            provider=node.provider,
            total_s=_subtract_overhead(recorded, weight, cost) * scale / 1e9,
            told_s=recorded / 1e9,
            accelerator_s=None if node.device_ns is None else node.device_ns / self.calls / 1e9,
            calls=calls,
            flop=None if work.flop is None else work.flop * calls,
            moved_bytes=None if work.bytes is None else work.bytes * calls,
            parts=node.parts,
        )

    def _sum_without_overhead_ns(self, cost: float) -> float:
        """One call, after subtracting ``cost`` for each recorded event."""
        pairs = zip(self.nodes_ns, self.weights, strict=True)
        nodes = sum(_subtract_overhead(recorded, weight, cost) for recorded, weight in pairs)
        if self.bare is not None:
            return nodes + self.bare
        return nodes + max(0.0, self.around - cost * self.around_weight)


def _recorded_ns(node: NodeTime) -> int:
    return node.self_ns if node.device_ns is None else node.device_ns


def _subtract_overhead(recorded: float, weight: float, cost: float) -> float:
    return max(recorded - cost * weight, LEAST_SHARE * recorded)
