"""From what a profiler told to where the time goes: its own cost taken out, nothing counted twice.

A profiler makes calls longer, and short nodes most: each event that it records costs about as much,
part of it inside the node, part around it. How much longer, the same calls without a profiler tell.
What is left between the two is the machine, which was quicker or slower meanwhile: that scales all
nodes alike. docs/decisions/0017-profiles.md has the figures.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import fmean, median, stdev

from modeldyno.core.results import NodeResult
from modeldyno.core.traces import NodeTime, Repeat
from modeldyno.core.work import work_of
from modeldyno.measure.student import half_interval

LEAST_SHARE = 0.05  # of what was told that a node keeps, however much its events cost
WORTH_A_NOTE = 0.1  # of a call that the profiler added
LEAST_REPEATS = 4  # of an interval: with fewer it would say more of chance than of the model
_FLOOR = 0.1  # the quantile
_STEPS = 50  # of halving: far below a nanosecond


@dataclass(frozen=True)
class Breakdown:
    """Seconds of one call; ``rows`` and ``outside_s`` add up to ``latency_s``."""

    latency_s: float  # typical, without the profiler
    floor_s: float
    profiled_s: float  # typical, with it
    event_cost_s: float  # taken out of a node for each event in it
    scale: float  # of all nodes alike, after that
    told_s: float  # what the profiler told of all nodes, before both
    rows: tuple[NodeResult, ...]
    ci95_s_by_op: dict[str, tuple[float, float]]  # empty: too few repeats
    # Of the latency, of all rows and of what is in none of them; empty: too few repeats.
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


def break_down(repeats: Sequence[Repeat]) -> Breakdown:
    """An event costs the same in all repeats; the machine is another in each."""
    told = [_Told.of(repeat) for repeat in repeats]
    cost = min(repeats[0].trace.most_event_ns, median(one.event_cost() for one in told))
    scales = [one.scale(cost) for one in told]
    rows: dict[tuple[str, str, str], list[NodeResult]] = {}
    by_op: dict[str, list[float]] = {}
    for number, (one, scale) in enumerate(zip(told, scales, strict=True)):
        for row in one.rows(cost, scale):
            rows.setdefault((row.node, row.op_type, row.provider), []).append(row)
            by_op.setdefault(row.op_type, [0.0] * len(told))[number] += row.total_s
    return Breakdown(
        latency_s=fmean(one.plain for one in told) / 1e9,
        floor_s=min(one.floor for one in told) / 1e9,
        profiled_s=fmean(one.profiled for one in told) / 1e9,
        event_cost_s=cost / 1e9,
        scale=fmean(scales),
        told_s=fmean(sum(one.nodes_ns) for one in told) / 1e9,
        rows=tuple(_mean(same, len(told)) for same in rows.values()),
        ci95_s_by_op={
            op: found for op, totals in by_op.items() if (found := _interval(totals)) is not None
        },
        ci95_s_by_figure=_by_figure([one.plain / 1e9 for one in told], list(by_op.values())),
    )


def _by_figure(
    latencies: Sequence[float], by_op: Sequence[Sequence[float]]
) -> dict[str, tuple[float, float]]:
    sums = [sum(same) for same in zip(*by_op, strict=True)]
    outside = [max(0.0, whole - part) for whole, part in zip(latencies, sums, strict=True)]
    named = {"latency": latencies, "sum": sums, "outside": outside}
    return {
        name: found for name, values in named.items() if (found := _interval(values)) is not None
    }


def _mean(same: Sequence[NodeResult], repeats: int) -> NodeResult:
    first = same[0]
    # A repeat that does not know the node spent no time in it.
    totals = [row.total_s for row in same] + [0.0] * (repeats - len(same))
    on_device = [row.accelerator_s for row in same if row.accelerator_s is not None]
    return NodeResult(
        node=first.node,
        op_type=first.op_type,
        provider=first.provider,
        total_s=sum(totals) / repeats,
        told_s=sum(row.told_s for row in same) / repeats,
        accelerator_s=sum(on_device) / repeats if on_device else None,
        calls=round(fmean(row.calls for row in same)),
        ci95_s=_interval(totals) if len(totals) == repeats else None,
        flop=first.flop,
        moved_bytes=first.moved_bytes,
        parts=first.parts,
    )


def _interval(totals: Sequence[float]) -> tuple[float, float] | None:
    """Of their mean: repeats are fresh sessions, so they are independent of each other."""
    if len(totals) < LEAST_REPEATS:
        return None
    middle, n = fmean(totals), len(totals)
    half = half_interval(0.95, n - 1) * stdev(totals) / sqrt(n)
    return max(0.0, middle - half), middle + half


@dataclass(frozen=True)
class _Told:
    """One repeat; nanoseconds of one call."""

    nodes: tuple[NodeTime, ...]
    calls: int
    plain: float
    floor: float
    profiled: float
    nodes_ns: list[float]
    weights: list[float]  # events whose recording cost time of each node
    around: float  # what the profiler saw in no node …
    around_weight: float  # … and the events whose recording cost time there
    bare: float | None  # a call that computes nothing

    @classmethod
    def of(cls, repeat: Repeat) -> _Told:
        nodes, calls = repeat.trace.nodes, max(1, repeat.trace.calls)
        ranked = sorted(repeat.plain_ns)
        profiled = median(repeat.profiled_ns)
        nodes_ns = [_told_ns(node) / calls for node in nodes]
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
        """An accelerator has a clock of its own, and no profiler disturbs it."""
        return any(node.device_ns is not None for node in self.nodes)

    def event_cost(self) -> float:
        """So that nodes and what is around them make up the latency; 0 where they are less."""
        if self.on_device or self._whole(0.0) <= self.plain:
            return 0.0
        low, high = 0.0, max(self.nodes_ns, default=0.0) + self.around
        for _ in range(_STEPS):
            middle = (low + high) / 2
            low, high = (middle, high) if self._whole(middle) > self.plain else (low, middle)
        return high

    def scale(self, cost: float) -> float:
        whole = self._whole(cost)
        return 1.0 if self.on_device or not whole else self.plain / whole

    def rows(self, cost: float, scale: float) -> list[NodeResult]:
        return [
            self._row(node, told, weight, cost, scale)
            for node, told, weight in zip(self.nodes, self.nodes_ns, self.weights, strict=True)
        ]

    def _row(
        self, node: NodeTime, told: float, weight: float, cost: float, scale: float
    ) -> NodeResult:
        calls = max(1, round(node.events / self.calls))
        work = work_of(node.op_type, node.operands)
        return NodeResult(
            node=node.node,
            op_type=node.op_type,
            provider=node.provider,
            total_s=_without(told, weight, cost) * scale / 1e9,
            told_s=told / 1e9,
            accelerator_s=None if node.device_ns is None else node.device_ns / self.calls / 1e9,
            calls=calls,
            flop=None if work.flop is None else work.flop * calls,
            moved_bytes=None if work.bytes is None else work.bytes * calls,
            parts=node.parts,
        )

    def _whole(self, cost: float) -> float:
        pairs = zip(self.nodes_ns, self.weights, strict=True)
        nodes = sum(_without(told, weight, cost) for told, weight in pairs)
        if self.bare is not None:
            return nodes + self.bare
        return nodes + max(0.0, self.around - cost * self.around_weight)


def _told_ns(node: NodeTime) -> int:
    return node.self_ns if node.device_ns is None else node.device_ns


def _without(told: float, weight: float, cost: float) -> float:
    return max(told - cost * weight, LEAST_SHARE * told)
