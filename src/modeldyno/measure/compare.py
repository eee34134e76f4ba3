"""From pairs of sessions to a ratio with its interval and one of five verdicts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import log
from statistics import fmean

import numpy as np

from modeldyno.core.hosts import HostWeather
from modeldyno.core.results import Estimate, Noise, Statistic, Verdict
from modeldyno.core.sessions import Pair, Session
from modeldyno.measure import process_variance, statistics
from modeldyno.measure.benchmark import contention_of
from modeldyno.measure.statistics import FLOOR, TYPICAL, WORK
from modeldyno.measure.verdicts import compare_verdict, noise_verdict, pairs_needed

LEVEL = 0.95
LONG_CALL_S = 0.001  # from here a scheduler slice can fall inside a call: compare CPU time
FLOORS_APART = 0.05  # on a contended machine, rounds and floors that differ by more are not one


@dataclass(frozen=True)
class PairUnit:
    process: int
    pair: Pair


@dataclass(frozen=True)
class Judgement:
    verdict: Verdict
    ratio: Estimate
    typical_ratio: Estimate
    statistic: Statistic
    process_share: float
    contention: float | None
    noise: Noise
    distribution_changed: bool
    pairs_needed: int | None
    floor_s: tuple[float, float]
    typical_s: tuple[float, float]
    notes: tuple[str, ...]


def judge(
    units: Sequence[PairUnit],
    margin: float,
    items: tuple[int, int],
    weather: HostWeather,
    level: float = LEVEL,
) -> Judgement:
    """time(B) / time(A), per item when the batch sizes ``items`` differ."""
    statistic = choose_statistic(units)
    scale = log(items[0] / items[1])
    ratios = [scale + log_ratio(unit.pair, statistic) for unit in units]
    typicals = [scale + _typical_log_ratio(unit.pair) for unit in units]
    spread = process_variance.spread(ratios, [unit.process for unit in units])
    ratio = statistics.exp_estimate(process_variance.estimate(ratios, spread, level))
    notes = _unit_note(ratio, spread.share)
    typical_ratio = statistics.exp_estimate(statistics.mean_t(typicals, level, "pairs"))
    if statistic == "cpu p25":
        wall = [scale + log_ratio(unit.pair, "wall p10") for unit in units]
        notes += _wall_note(wall, ratio, level)
    sides = [unit.pair.a for unit in units], [unit.pair.b for unit in units]
    contention, _ = contention_of([*sides[0], *sides[1]], weather)
    floors = _level(sides[0], FLOOR), _level(sides[1], FLOOR)
    usual = _level(sides[0], TYPICAL), _level(sides[1], TYPICAL)
    gap = max(usual[0] / floors[0], usual[1] / floors[1])
    # How wide the ratio's interval is, the verdict says: this is about the machine alone.
    noise, _ = noise_verdict(contention, gap, 0.0, trend=False, steady=True)
    if noise == "contended" and statistic == "wall p10":
        ratio, told = _with_floors(ratio, floors[1] * items[0] / (floors[0] * items[1]))
        notes += told
    verdict = compare_verdict(ratio, margin)
    return Judgement(
        verdict=verdict,
        ratio=ratio,
        typical_ratio=typical_ratio,
        statistic=statistic,
        process_share=spread.share,
        contention=contention,
        noise=noise,
        distribution_changed=_shape_changed(units, level),
        pairs_needed=pairs_needed(ratio, margin) if verdict == "inconclusive" else None,
        floor_s=floors,
        typical_s=usual,
        notes=notes,
    )


def choose_statistic(units: Sequence[PairUnit]) -> Statistic:
    """CPU time for long calls on one thread of the CPU, where wall time measures the neighbours.

    What another device does takes no time of the CPU's, or all of it while the CPU waits.
    """
    sides = [side for unit in units for side in (unit.pair.a, unit.pair.b)]
    one_thread = all(side.facts.is_on_cpu and side.facts.threads == 1 for side in sides)
    long = all(side.calibration.call_s >= LONG_CALL_S for side in sides)
    timed = all(side.samples.cpu_ns for side in sides)
    return "cpu p25" if one_thread and long and timed else "wall p10"


def log_ratio(pair: Pair, statistic: Statistic) -> float:
    """One pair's verdict: every round of ABBA is compared by itself, the median round counts."""
    turn = max(pair.a.samples.samples_per_turn, pair.b.samples.samples_per_turn)
    whole = max(len(pair.a.samples.wall_ns), len(pair.b.samples.wall_ns))
    size = 2 * turn or whole
    if statistic == "cpu p25":
        return statistics.log_ratio_by_rounds(_cpu(pair.a), _cpu(pair.b), WORK, size)
    return statistics.log_ratio_by_rounds(_wall(pair.a), _wall(pair.b), FLOOR, size)


def _typical_log_ratio(pair: Pair) -> float:
    return statistics.log_ratio(_wall(pair.a), _wall(pair.b), TYPICAL)


def _wall(session: Session) -> statistics.FloatArray:
    samples = session.samples
    return statistics.seconds_per_call(samples.wall_ns, samples.calls_per_sample)


def _cpu(session: Session) -> statistics.FloatArray:
    samples = session.samples
    return statistics.seconds_per_call(samples.cpu_ns, samples.calls_per_sample)


def _level(sessions: Sequence[Session], quantile: float) -> float:
    return float(np.exp(fmean(log(float(np.quantile(_wall(s), quantile))) for s in sessions)))


def _with_floors(ratio: Estimate, floors: float) -> tuple[Estimate, tuple[str, ...]]:
    """Neighbours that take a core for longer than a round can hit one side's rounds more often.

    The floors of whole sessions mind that less. Where the two are far apart, nobody knows which
    one is the models' own, so the interval takes in both.
    """
    if abs(log(floors / ratio.value)) <= FLOORS_APART:
        return ratio, ()
    wider = replace(ratio, low=min(ratio.low, floors), high=max(ratio.high, floors))
    return wider, (
        f"the machine was contended, and the floors say {floors:.3f} where the rounds say "
        f"{ratio.value:.3f}: the interval takes in both",
    )


def _unit_note(ratio: Estimate, share: float) -> tuple[str, ...]:
    if ratio.units != "processes":
        return ()
    return (f"{share:.0%} of the variance sits between processes, so processes are the unit",)


def _wall_note(wall: list[float], ratio: Estimate, level: float) -> tuple[str, ...]:
    """CPU time cannot see waiting; where wall time clearly disagrees, say so."""
    seen = statistics.exp_estimate(statistics.mean_t(wall, level, "pairs"))
    if seen.low <= ratio.high and ratio.low <= seen.high:
        return ()
    return (
        f"wall time says {seen.value:.3f} ({seen.low:.3f}-{seen.high:.3f}): the sides differ in "
        "waiting, which CPU time cannot see",
    )


def _shape_changed(units: Sequence[PairUnit], level: float) -> bool:
    """Whether median over floor differs between A and B beyond chance: a slow path appeared."""
    gaps = [_typical_log_ratio(unit.pair) - log_ratio(unit.pair, "wall p10") for unit in units]
    change = statistics.mean_t(gaps, level, "pairs")
    return not change.low <= 0 <= change.high and abs(change.value) > 0.02


# ---------------------------------------------------------------- while it is under way


class RunningRatio:
    """Looks at every pair's samples once, however often it is asked: a thorough comparison has
    hundreds of pairs, and the machine should not be busy with old ones while it measures."""

    def __init__(
        self,
        units: list[PairUnit],
        items: tuple[int, int],
        of_pair: Callable[[Pair, Statistic], float] = log_ratio,
    ) -> None:
        self._units = units  # shared with the job, which adds to it
        self._scale = log(items[0] / items[1])
        self._of_pair = of_pair
        self._known: dict[Statistic, list[float]] = {}

    def estimate(self) -> Estimate | None:
        """time(B) / time(A) per item; nothing before there are two pairs."""
        if len(self._units) < 2:
            return None
        statistic = choose_statistic(self._units)
        known = self._known.setdefault(statistic, [])
        known += [
            self._scale + self._of_pair(unit.pair, statistic) for unit in self._units[len(known) :]
        ]
        return statistics.exp_estimate(statistics.mean_t(known, LEVEL, "pairs"))
