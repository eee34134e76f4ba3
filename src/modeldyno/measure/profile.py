"""From a profiler's trace to where the time goes: its overhead removed, nothing counted twice.

A profiler makes calls longer, short nodes most: every recorded event costs about the same, partly
inside the node, partly around it. Calls without the profiler show how much it adds, within what
recording an event was measured to cost beside them: a busy machine must not pass for a slow
profiler. What remains is the machine, which was faster or slower meanwhile; that scales all nodes
equally. Nodes whose time cannot be known that way are marked. The figures are in
docs/decisions/0017-profiles.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import sqrt
from statistics import fmean, median, stdev

import numpy as np

from modeldyno.core import figures
from modeldyno.core.hosts import HostWeather
from modeldyno.core.node_work import work_of
from modeldyno.core.profiles import NodeTime, ProfileRepeat
from modeldyno.core.results import FEWEST_SESSIONS, NodeResult, Noise
from modeldyno.measure.benchmark import (
    STEADY_SHARE,
    WITHIN_SESSIONS,
    contention_by_pressure,
    level_over_sessions,
    single_thread_contention,
)
from modeldyno.measure.statistics import FLOOR, TYPICAL
from modeldyno.measure.student import half_interval
from modeldyno.measure.trend import has_level_moved
from modeldyno.measure.verdicts import noise_verdict

LEAST_SHARE = 0.05  # of its recorded time that a node keeps, however much its events cost
WORTH_A_NOTE = 0.1  # of a call, added by the profiler
LEAST_REPEATS = 4  # for an interval: with fewer it would reflect chance more than the model
# Times what recording an event was measured to cost: nodes have more operands than those measured.
PLAUSIBLE_COST = 2.0
# Of what was recorded in a node, the share that may be the profiler's own cost: more leaves a time
# that is mostly error.
MOST_COST, MOST_COST_DISTURBED, MOST_COST_BOUNDED = 1 - LEAST_SHARE, 0.5, 0.25
MOST_SPREAD = 0.2  # of a node's share of the latency between repeats, half and relative
DISTURBED: tuple[Noise, ...] = ("contended", "unusable")
TIME_SLICE_NS = 3e6  # that Linux gives to other work before it is our turn again
NO_WEATHER = HostWeather(None, None, None, None)
_INTERRUPTED = 2.0  # times the floor: a call that took longer was interrupted by other work
_FLOOR = 0.1  # quantile
_BISECTIONS = 50  # down to far below a nanosecond


Key = tuple[str, str, str]  # node, operator, provider


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
    unknown_by_op: dict[str, str]  # why the times of these operators are not to be shown
    noise: Noise
    reasons: tuple[str, ...]

    @property
    def sum_s(self) -> float:
        return sum(row.total_s for row in self.rows)

    @property
    def outside_s(self) -> float:
        return max(0.0, self.latency_s - self.sum_s)

    @property
    def coverage(self) -> float:
        return self.sum_s / self.latency_s if self.latency_s else 0.0


def break_down(repeats: Sequence[ProfileRepeat], weather: HostWeather = NO_WEATHER) -> Breakdown:
    """An event costs the same in all repeats; the machine's speed differs between them."""
    profiles = [_ProfiledRepeat.of(repeat) for repeat in repeats]
    cost = _event_cost(profiles)
    scales = [profile.scale(cost.ns) for profile in profiles]
    rows: dict[Key, list[NodeResult]] = {}
    by_op: dict[str, list[float]] = {}
    for number, (profile, scale) in enumerate(zip(profiles, scales, strict=True)):
        for row in profile.rows(cost.ns, scale):
            rows.setdefault((row.node, row.op_type, row.provider), []).append(row)
            by_op.setdefault(row.op_type, [0.0] * len(profiles))[number] += row.total_s
    noise, reasons = _noise(repeats, weather)
    doubtful = cost.is_bounded, noise in DISTURBED, max(p.interruption for p in profiles)
    nodes, operators = _parts(profiles, scales, cost.ns)
    return Breakdown(
        latency_s=fmean(profile.plain for profile in profiles) / 1e9,
        floor_s=min(profile.floor for profile in profiles) / 1e9,
        profiled_s=fmean(profile.profiled for profile in profiles) / 1e9,
        event_cost_s=cost.ns / 1e9,
        scale=fmean(scales),
        recorded_s=fmean(sum(profile.nodes_ns) for profile in profiles) / 1e9,
        rows=tuple(
            replace(
                _mean_row(same_node, len(profiles)),
                unknown=nodes[key].doubt(*doubtful),
            )
            for key, same_node in rows.items()
        ),
        ci95_s_by_op=_interval_by_name(by_op),
        ci95_s_by_figure=_figure_intervals([p.plain / 1e9 for p in profiles], list(by_op.values())),
        unknown_by_op={op: why for op, part in operators.items() if (why := part.doubt(*doubtful))},
        noise=noise,
        reasons=reasons,
    )


# ---------------------------------------------------------------- how far to trust it


def _noise(repeats: Sequence[ProfileRepeat], weather: HostWeather) -> tuple[Noise, tuple[str, ...]]:
    """The verdict that a cell would get for its calls without the profiler."""
    samples = [np.array(repeat.plain_ns, float) / 1e9 for repeat in repeats]
    floor, typical = (level_over_sessions(samples, level) for level in (FLOOR, TYPICAL))
    noise, reasons = noise_verdict(
        _contention(repeats, weather),
        typical.value / floor.value,
        floor.relative,
        has_level_moved(samples),
        sum(repeat.steady for repeat in repeats) >= STEADY_SHARE * len(repeats),
        typical.relative,
        typical.n if typical.units == "samples" else None,
    )
    if len(repeats) < FEWEST_SESSIONS and noise == "quiet":
        return "noisy", (WITHIN_SESSIONS, *reasons)
    return noise, reasons


def _contention(repeats: Sequence[ProfileRepeat], weather: HostWeather) -> float | None:
    if all(r.facts.is_on_cpu and r.facts.threads == 1 and r.block_cpu_ns for r in repeats):
        wall = sum(repeat.block_wall_ns for repeat in repeats)
        return single_thread_contention(wall, sum(repeat.block_cpu_ns for repeat in repeats))
    return contention_by_pressure(weather)


@dataclass(frozen=True)
class _EventCost:
    ns: float
    is_bounded: bool  # calls with the profiler took longer than recording can have cost


def _event_cost(profiles: Sequence[_ProfiledRepeat]) -> _EventCost:
    """What the calls say, where that agrees with what recording was measured to cost."""
    fitted = median(profile.event_cost() for profile in profiles)
    measured = [p.measured_cost for p in profiles if p.measured_cost is not None]
    if not measured:
        most = median(profile.most_cost for profile in profiles)
        return _EventCost(min(fitted, most), fitted > most)
    direct = median(measured)
    if direct / PLAUSIBLE_COST <= fitted <= direct * PLAUSIBLE_COST:
        return _EventCost(fitted, is_bounded=False)
    return _EventCost(direct, fitted > direct)


@dataclass(frozen=True)
class _Part:
    """A node, or all nodes of one operator; each list has a number for each repeat."""

    recorded_ns: list[float]
    own_cost_ns: list[float]  # of the profiler, in that
    shares: list[float]  # of the latency

    def doubt(self, is_bounded: bool, is_disturbed: bool, interruption_ns: float) -> str:
        """Why its time is not to be shown; empty if it is. ``interruption_ns`` is what one adds."""
        recorded, own = fmean(self.recorded_ns), fmean(self.own_cost_ns)
        most = MOST_COST_DISTURBED if is_disturbed else MOST_COST
        if own >= (MOST_COST_BOUNDED if is_bounded else most) * recorded > 0:
            times = figures.duration(own / 1e9), figures.duration(recorded / 1e9)
            more = ", and calls took longer than that explains" if is_bounded else ""
            return f"recording it costs about {times[0]} of the {times[1]} that were recorded{more}"
        if is_disturbed and interruption_ns > MOST_SPREAD * recorded:
            return "other work that interrupts one of the calls may make up much of what it took"
        if is_disturbed and _spread(self.shares) > MOST_SPREAD:
            low, high = figures.percent(min(self.shares)), figures.percent(max(self.shares))
            return f"it took {low} to {high} of a call in the repeats: other work interrupted them"
        return ""


def _spread(shares: Sequence[float]) -> float:
    """Half of the interval, or of the range of a few, relative to the mean."""
    mean = fmean(shares)
    low, high = _interval_of(shares) or (min(shares), max(shares))
    return (high - low) / 2 / mean if mean else 0.0


def _parts(
    profiles: Sequence[_ProfiledRepeat], scales: Sequence[float], cost: float
) -> tuple[dict[Key, _Part], dict[str, _Part]]:
    """By node and by operator."""
    by_node: dict[Key, _Part] = {}
    by_op: dict[str, _Part] = {}
    for number, (profile, scale) in enumerate(zip(profiles, scales, strict=True)):
        for node, recorded, weight in profile.weighted_nodes():
            share = _subtract_overhead(recorded, weight, cost) * scale / profile.plain
            key = node.node, node.op_type, node.provider
            for part in (
                by_node.setdefault(key, _no_part(len(profiles))),
                by_op.setdefault(node.op_type, _no_part(len(profiles))),
            ):
                part.recorded_ns[number] += recorded
                part.own_cost_ns[number] += min(recorded, cost * weight)
                part.shares[number] += share
    return by_node, by_op


def _no_part(repeats: int) -> _Part:
    return _Part([0.0] * repeats, [0.0] * repeats, [0.0] * repeats)


# ---------------------------------------------------------------- intervals


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
    undisturbed: float  # of the plain calls that other work did not interrupt
    floor: float
    profiled: float
    nodes_ns: list[float]
    weights: list[float]  # number of events whose recording is included in each node
    around: float  # profiled time outside of all nodes …
    around_weight: float  # … and the number of events whose recording is included there
    bare: float | None  # a call that computes nothing
    interruption: float  # what other work in one of the calls adds to the time of a node
    measured_cost: float | None  # of an event
    most_cost: float  # of an event, by what the profiler adds to the quickest calls

    @classmethod
    def of(cls, repeat: ProfileRepeat) -> _ProfiledRepeat:
        trace = repeat.trace
        nodes, calls = trace.nodes, max(1, trace.calls)
        profiled, floor = median(repeat.profiled_ns), _floor(repeat.plain_ns)
        nodes_ns = [_recorded_ns(node) / calls for node in nodes]
        weights = [(node.events + node.inner) / calls for node in nodes]
        added = max(0, _floor(repeat.profiled_ns) - floor)
        return cls(
            nodes=nodes,
            calls=calls,
            plain=median(repeat.plain_ns),
            undisturbed=median(ns for ns in repeat.plain_ns if ns <= _INTERRUPTED * floor),
            floor=floor,
            profiled=profiled,
            nodes_ns=nodes_ns,
            weights=weights,
            around=max(0.0, profiled - sum(nodes_ns)),
            around_weight=repeat.trace.outer / calls + 1,
            bare=repeat.bare_ns,
            interruption=TIME_SLICE_NS / calls if trace.is_mean else 0.0,
            measured_cost=trace.event_ns,
            most_cost=min(trace.most_event_ns, trace.cut_off_ns + added / max(1, sum(weights))),
        )

    @property
    def on_device(self) -> bool:
        """Accelerators have their own clock, which the profiler does not disturb."""
        return any(node.device_ns is not None for node in self.nodes)

    def event_cost(self) -> float:
        """The cost at which nodes and the time around them add up to the latency; at least 0."""
        if self.on_device or self._sum_without_overhead_ns(0.0) <= self.undisturbed:
            return 0.0
        low, high = 0.0, max(self.nodes_ns, default=0.0) + self.around
        for _ in range(_BISECTIONS):
            middle = (low + high) / 2
            is_too_low = self._sum_without_overhead_ns(middle) > self.undisturbed
            low, high = (middle, high) if is_too_low else (low, middle)
        return high

    def scale(self, cost: float) -> float:
        corrected = self._sum_without_overhead_ns(cost)
        return 1.0 if self.on_device or not corrected else self.plain / corrected

    def rows(self, cost: float, scale: float) -> list[NodeResult]:
        return [
            self._make_row(node, recorded, weight, cost, scale)
            for node, recorded, weight in self.weighted_nodes()
        ]

    def weighted_nodes(self) -> Iterable[tuple[NodeTime, float, float]]:
        """Each with its recorded time and the number of events whose recording is in that."""
        return zip(self.nodes, self.nodes_ns, self.weights, strict=True)

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
        nodes = sum(_subtract_overhead(ns, weight, cost) for _, ns, weight in self.weighted_nodes())
        if self.bare is not None:
            return nodes + self.bare
        return nodes + max(0.0, self.around - cost * self.around_weight)


def _floor(calls_ns: Sequence[int]) -> int:
    return sorted(calls_ns)[int(_FLOOR * (len(calls_ns) - 1))]


def _recorded_ns(node: NodeTime) -> int:
    return node.self_ns if node.device_ns is None else node.device_ns


def _subtract_overhead(recorded: float, weight: float, cost: float) -> float:
    return max(recorded - cost * weight, LEAST_SHARE * recorded)
