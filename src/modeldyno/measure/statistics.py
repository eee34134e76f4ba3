"""Medians, low quantiles and intervals over sessions: the unit of statistics is the session.

Two sessions of one file differ by about 1 % because of where their memory lies, and no number of
samples averages that away. Intervals are therefore Student's t over one figure per session, on
logarithms (docs/measuring.md). No sample is ever removed as an outlier.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import exp, fsum, log, sqrt
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from modeldyno.core.results import Estimate
from modeldyno.measure.student import half_interval

FloatArray = NDArray[np.float64]
Units = Literal["sessions", "samples", "pairs", "processes"]

FLOOR = 0.10  # as stable as the minimum, without being an extreme value
WORK = 0.25  # quantile of CPU time by which long calls are compared
TYPICAL = 0.50
OUTLIER = 1.5  # times the floor


# ---------------------------------------------------------------- one session


def seconds_per_call(timings_ns: ArrayLike, calls_per_sample: int) -> FloatArray:
    """Converts the worker's samples (nanoseconds of k calls) to seconds per call."""
    return np.asarray(timings_ns, dtype=np.float64) / (1e9 * calls_per_sample)


def floor(samples: FloatArray) -> float:
    """What the work itself costs: noise only adds time, so it hardly affects a low quantile."""
    return float(np.quantile(samples, FLOOR))


def lower_quartile(samples: FloatArray) -> float:
    """The lower quartile, by which a session's CPU time and drift are judged."""
    return float(np.quantile(samples, WORK))


def typical(samples: FloatArray) -> float:
    """What a caller sees."""
    return float(np.quantile(samples, TYPICAL))


def log_ratio(a: FloatArray, b: FloatArray, quantile: float = FLOOR) -> float:
    """Log of B's quantile over A's in one pair. Mean and interval come from many pairs."""
    return log(float(np.quantile(b, quantile)) / float(np.quantile(a, quantile)))


def log_ratio_by_rounds(
    a: FloatArray, b: FloatArray, quantile: float, samples_per_round: int
) -> float:
    """The median of the same over all ABBA rounds, each too short for the machine to change.

    If a machine has two speeds, as with a busy sibling thread, a quantile of the whole pair may
    land on either of them by luck; within a round, both sides meet the same speed.
    """
    rounds = max(1, min(a.size, b.size) // max(1, samples_per_round))
    levels = [np.quantile(_split_into_rounds(side, rounds), quantile, axis=1) for side in (a, b)]
    return float(np.median(np.log(levels[1] / levels[0])))


def _split_into_rounds(samples: FloatArray, rounds: int) -> FloatArray:
    size = samples.size // rounds
    return samples[: rounds * size].reshape(rounds, size)


def outliers(samples: FloatArray, floor_s: float) -> tuple[float, float]:
    """The share of samples above 1.5 × floor, and the largest sample. They are never removed."""
    return float(np.mean(samples > OUTLIER * floor_s)), float(np.max(samples))


# ---------------------------------------------------------------- over sessions


def mean_t(values: Sequence[float], level: float, units: Units) -> Estimate:
    """The mean with its Student-t interval."""
    n = len(values)
    if n < 2:
        raise ValueError(f"an interval needs at least 2 {units}, not {n}")
    mean = fsum(values) / n
    deviation = sqrt(fsum((value - mean) ** 2 for value in values) / (n - 1))
    half = half_interval(level, n - 1) * deviation / sqrt(n)
    return Estimate(mean, mean - half, mean + half, level, n, units)


def exp_estimate(estimate: Estimate) -> Estimate:
    """Back from logarithms: a mean of log-ratios becomes a ratio with its interval."""
    return replace(
        estimate, value=exp(estimate.value), low=exp(estimate.low), high=exp(estimate.high)
    )


def log_t(values: Sequence[float], level: float, units: Units) -> Estimate:
    """The geometric mean with its t interval on logarithms, since noise is multiplicative."""
    if min(values, default=1.0) <= 0:
        raise ValueError("a geometric mean needs values above zero")
    return exp_estimate(mean_t([log(value) for value in values], level, units))
