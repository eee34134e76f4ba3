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
FLOORS_APART = 0.05  # on a contended machine, rounds and floors that differ by more disagree


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


def judge_pairs(
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
    variance = process_variance.analyse_variance(ratios, [unit.process for unit in units])
    ratio = statistics.exp_estimate(process_variance.estimate_mean(ratios, variance, level))
    notes = _note_on_units(ratio, variance.share)
    typical_ratio = statistics.exp_estimate(statistics.mean_t(typicals, level, "pairs"))
    if statistic == "cpu p25":
        wall = [scale + log_ratio(unit.pair, "wall p10") for unit in units]
        notes += _note_on_wall_time(wall, ratio, level)
    sides = [unit.pair.a for unit in units], [unit.pair.b for unit in units]
    contention, _ = contention_of([*sides[0], *sides[1]], weather)
    floors = _median_level(sides[0], FLOOR), _median_level(sides[1], FLOOR)
    typical_s = _median_level(sides[0], TYPICAL), _median_level(sides[1], TYPICAL)
    gap = max(typical_s[0] / floors[0], typical_s[1] / floors[1])
    # About the machine alone: the verdict covers the width of the ratio's interval.
    noise, _ = noise_verdict(contention, gap, 0.0, trend=False, steady=True)
    if noise == "contended" and statistic == "wall p10":
        floor_ratio = floors[1] * items[0] / (floors[0] * items[1])
        ratio, floor_note = _widen_to_floors(ratio, floor_ratio)
        notes += floor_note
    verdict = compare_verdict(ratio, margin)
    return Judgement(
        verdict=verdict,
        ratio=ratio,
        typical_ratio=typical_ratio,
        statistic=statistic,
        process_share=variance.share,
        contention=contention,
        noise=noise,
        distribution_changed=_has_shape_changed(units, level),
        pairs_needed=pairs_needed(ratio, margin) if verdict == "inconclusive" else None,
        floor_s=floors,
        typical_s=typical_s,
        notes=notes,
    )


def choose_statistic(units: Sequence[PairUnit]) -> Statistic:
    """CPU time for long calls on a single CPU thread, whose wall time includes the neighbours.

    Not for other devices: their work costs no CPU time, or all of it while the CPU waits for them.
    """
    sides = [side for unit in units for side in (unit.pair.a, unit.pair.b)]
    is_single_thread = all(side.facts.is_on_cpu and side.facts.threads == 1 for side in sides)
    is_long = all(side.calibration.call_s >= LONG_CALL_S for side in sides)
    has_cpu_time = all(side.samples.cpu_ns for side in sides)
    return "cpu p25" if is_single_thread and is_long and has_cpu_time else "wall p10"


def log_ratio(pair: Pair, statistic: Statistic) -> float:
    """The log-ratio of one pair: the median over its ABBA rounds, each compared separately."""
    turn = max(pair.a.samples.samples_per_turn, pair.b.samples.samples_per_turn)
    whole = max(len(pair.a.samples.wall_ns), len(pair.b.samples.wall_ns))
    size = 2 * turn or whole
    if statistic == "cpu p25":
        return statistics.log_ratio_by_rounds(
            _cpu_samples(pair.a), _cpu_samples(pair.b), WORK, size
        )
    return statistics.log_ratio_by_rounds(_wall_samples(pair.a), _wall_samples(pair.b), FLOOR, size)


def _typical_log_ratio(pair: Pair) -> float:
    return statistics.log_ratio(_wall_samples(pair.a), _wall_samples(pair.b), TYPICAL)


def _wall_samples(session: Session) -> statistics.FloatArray:
    samples = session.samples
    return statistics.seconds_per_call(samples.wall_ns, samples.calls_per_sample)


def _cpu_samples(session: Session) -> statistics.FloatArray:
    samples = session.samples
    return statistics.seconds_per_call(samples.cpu_ns, samples.calls_per_sample)


def _median_level(sessions: Sequence[Session], quantile: float) -> float:
    return float(
        np.exp(fmean(log(float(np.quantile(_wall_samples(s), quantile))) for s in sessions))
    )


def _widen_to_floors(ratio: Estimate, floors: float) -> tuple[Estimate, tuple[str, ...]]:
    """Neighbours that hold a core for longer than a round may hit one side's rounds more often.

    The floors of whole sessions suffer less from that. If the two disagree, we cannot know which
    one describes the models, so the interval includes both.
    """
    if abs(log(floors / ratio.value)) <= FLOORS_APART:
        return ratio, ()
    wider = replace(ratio, low=min(ratio.low, floors), high=max(ratio.high, floors))
    return wider, (
        f"the machine was contended, and the floors say {floors:.3f} while the rounds say "
        f"{ratio.value:.3f}: the interval includes both",
    )


def _note_on_units(ratio: Estimate, share: float) -> tuple[str, ...]:
    if ratio.units != "processes":
        return ()
    return (
        f"processes differ more than pairs within one ({share:.0%} of the variance), so the "
        "interval counts processes",
    )


def _note_on_wall_time(wall: list[float], ratio: Estimate, level: float) -> tuple[str, ...]:
    """CPU time does not include waiting; if wall time clearly disagrees, say so."""
    by_wall = statistics.exp_estimate(statistics.mean_t(wall, level, "pairs"))
    if by_wall.low <= ratio.high and ratio.low <= by_wall.high:
        return ()
    return (
        f"wall time says {by_wall.value:.3f} ({by_wall.low:.3f}-{by_wall.high:.3f}): the sides "
        "differ in waiting, which CPU time does not include",
    )


def _has_shape_changed(units: Sequence[PairUnit], level: float) -> bool:
    """Whether median over floor differs between A and B beyond chance, as with a new slow path."""
    gaps = [_typical_log_ratio(unit.pair) - log_ratio(unit.pair, "wall p10") for unit in units]
    change = statistics.mean_t(gaps, level, "pairs")
    return not change.low <= 0 <= change.high and abs(change.value) > 0.02


# ---------------------------------------------------------------- progress


class RunningRatio:
    """The ratio of the pairs measured so far, for the progress line.

    Each pair's samples are read once: a thorough comparison has hundreds of pairs, and the machine
    should not be busy with old ones while it measures.
    """

    def __init__(
        self,
        units: list[PairUnit],
        items: tuple[int, int],
        pair_log_ratio: Callable[[Pair, Statistic], float] = log_ratio,
    ) -> None:
        self._units = units  # shared with the job, which adds to it
        self._scale = log(items[0] / items[1])
        self._pair_log_ratio = pair_log_ratio
        self._log_ratios: dict[Statistic, list[float]] = {}

    def estimate(self) -> Estimate | None:
        """time(B) / time(A) per item; None until there are two pairs."""
        if len(self._units) < 2:
            return None
        statistic = choose_statistic(self._units)
        log_ratios = self._log_ratios.setdefault(statistic, [])
        log_ratios += [
            self._scale + self._pair_log_ratio(unit.pair, statistic)
            for unit in self._units[len(log_ratios) :]
        ]
        return statistics.exp_estimate(statistics.mean_t(log_ratios, LEVEL, "pairs"))
