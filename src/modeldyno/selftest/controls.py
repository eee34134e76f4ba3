"""The usual ways that do not hold on benchmark data: what our tests must see fail.

Iterations of one session are not independent units (docs/measuring.md, A/A by design).
"""

from __future__ import annotations

from math import erfc, hypot, log, sqrt

import numpy as np

from modeldyno.measure.statistics import FloatArray
from modeldyno.measure.student import half_interval
from modeldyno.measure.tails import order_statistics


def welch_interval(
    a: tuple[float, float, int], b: tuple[float, float, int], level: float
) -> tuple[float, float]:
    """Welch's t interval of mean(b) - mean(a) from (mean, variance, n) of each."""
    share_a, share_b = a[1] / a[2], b[1] / b[2]
    error = sqrt(share_a + share_b)
    df = (share_a + share_b) ** 2 / (share_a**2 / (a[2] - 1) + share_b**2 / (b[2] - 1))
    half = half_interval(level, df) * error
    return b[0] - a[0] - half, b[0] - a[0] + half


def mann_whitney_p_value(a: FloatArray, b: FloatArray) -> float:
    """The two-sided p of the U test, by its normal approximation with ties."""
    both = np.concatenate((a, b))
    _, inverse, counts = np.unique(both, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[inverse]
    n_a, n_b, n = a.size, b.size, both.size
    u = float(ranks[:n_a].sum()) - n_a * (n_a + 1) / 2
    ties = float((counts.astype(np.float64) ** 3 - counts).sum()) / (n * (n - 1))
    spread = sqrt(n_a * n_b / 12 * (n + 1 - ties))
    return erfc(abs(u - n_a * n_b / 2) / spread / sqrt(2)) if spread else 1.0


def quantile_ratio_interval(
    a: FloatArray, b: FloatArray, quantile: float, level: float
) -> tuple[float, float]:
    """The interval of log(B's quantile / A's), were all samples independent."""
    value_a, low_a, high_a = order_statistics(a, quantile, level, effective=a.size)
    value_b, low_b, high_b = order_statistics(b, quantile, level, effective=b.size)
    ratio = log(value_b / value_a)
    below = hypot(log(value_b / low_b), log(high_a / value_a))
    above = hypot(log(high_b / value_b), log(value_a / low_a))
    return ratio - below, ratio + above
