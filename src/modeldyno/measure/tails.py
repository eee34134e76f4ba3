"""Percentiles of the samples themselves, with intervals that know about bursts.

Slow calls come in runs: an interval that treats them as independent covers p99 half as often as it
claims. Here n samples count as n/τ, where τ is the integrated autocorrelation time of "slower than
the percentile" (docs/measuring.md, tails).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, log, sqrt
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from modeldyno.core.results import Estimate, Tail
from modeldyno.measure.statistics import FloatArray
from modeldyno.measure.student import half_interval, incomplete_beta

UNCORRELATED = 0.02  # the sum ends at the first lag below this: the rest is noise


def quantile_interval(sessions: Sequence[FloatArray], q: float, level: float = 0.95) -> Tail:
    """The q-quantile of all samples between order statistics, or how many samples it needs.

    ``sessions`` are samples in the order they were taken; sessions are not correlated.
    """
    tau = exceedance_time(sessions, q)
    samples = np.concatenate(sessions)
    needed = ceil(fewest_samples(q, level) * tau)
    if samples.size < needed:
        return Tail(q, None, None, None, samples_needed=needed)
    effective = samples.size / tau
    value, low, high = order_statistics(
        samples, q, _level_for_estimated_tau(tau, effective, q, level), effective
    )
    return Tail(q, value, low, high, samples_needed=None)


def within_session(sessions: Sequence[FloatArray], q: float, level: float) -> Estimate:
    """A quantile for when too few sessions fit the budget to compare them.

    Its interval excludes what differs between sessions (about 1 %); say so where it is shown. If
    the samples do not support ``level``, it ends at the extremes and has the level they cover.
    """
    samples = np.concatenate(sessions)
    tau = exceedance_time(sessions, q)
    effective = samples.size / tau
    value, low, high = order_statistics(
        samples, q, _level_for_estimated_tau(tau, effective, q, level), effective
    )
    miss = (1 - level) / 2
    reached = 1 - max(miss, q**effective) - max(miss, (1 - q) ** effective)
    return Estimate(value, low, high, max(0.0, reached), samples.size, "samples")


def fewest_samples(q: float, level: float) -> int:
    """Independent samples that a two-sided interval needs: 6, 36, 72, 368 for p50, 90, 95, 99.

    The largest of n misses the quantile with probability q^n, the smallest with (1-q)^n; each side
    may miss with half of the probability that the level leaves.
    """
    return ceil(log((1 - level) / 2) / log(max(q, 1 - q)))


# ---------------------------------------------------------------- order statistics


def _level_for_estimated_tau(tau: float, effective: float, q: float, level: float) -> float:
    """The level to use for order statistics, given that τ itself is only an estimate.

    τ is estimated from the independent events beyond the quantile, often fewer than ten; as with
    any estimated spread, Student's t replaces the normal distribution. Without this, coverage with
    bursts of ten was 91 % instead of 95 % (docs/measuring.md, tails).
    """
    if tau == 1.0:
        return level
    events = max(1.0, effective * min(q, 1 - q))
    return 2 * NormalDist().cdf(half_interval(level, events)) - 1


def order_statistics(
    samples: FloatArray, q: float, level: float, effective: float
) -> tuple[float, float, float]:
    """The q-quantile and the samples that enclose it, if only ``effective`` are independent."""
    n, miss = samples.size, (1 - level) / 2
    stretch = (n + 1) / (effective + 1)
    low = _lower_rank(effective, q, miss) * stretch
    high = n + 1 - _lower_rank(effective, 1 - q, miss) * stretch
    # Ranks are whole numbers; we round outwards, so that the interval is never too narrow.
    ranks = [min(n, max(1, rank)) - 1 for rank in (ceil(q * n), int(low), ceil(high))]
    value, lowest, highest = np.partition(samples, ranks)[ranks]
    return float(value), float(lowest), float(highest)


def _lower_rank(n: float, q: float, miss: float) -> float:
    """The highest rank that lies above the q-quantile with a probability of at most ``miss``.

    That is the probability that fewer than ``rank`` of n samples fall below the quantile. Ranks and
    n may be fractions, since n is an effective number. 0 if even the smallest sample misses more
    often.
    """
    if (1 - q) ** n > miss:
        return 0.0
    spread = sqrt(n * q * (1 - q))
    low, high = max(1.0, n * q - 8 * spread - 8), n * q + 1
    if _probability_of_fewer(low, n, q) > miss:
        low = 1.0
    while high - low > 1e-4:
        middle = (low + high) / 2
        if _probability_of_fewer(middle, n, q) <= miss:
            low = middle
        else:
            high = middle
    return low


def _probability_of_fewer(rank: float, n: float, q: float) -> float:
    return incomplete_beta(n - rank + 1, rank, 1 - q)


# ---------------------------------------------------------------- correlation


def exceedance_time(sessions: Sequence[FloatArray], q: float) -> float:
    """τ of "slower than the q-quantile of all sessions"."""
    samples = np.concatenate(sessions)
    rank = max(0, ceil(q * samples.size) - 1)
    threshold = np.partition(samples, rank)[rank]
    return integrated_time([session > threshold for session in sessions])


def integrated_time(indicators: Sequence[NDArray[np.bool_]]) -> float:
    """How many samples count as one, at least 1: 1 + 2 Σ r(lag), cut at the first r < 0.02.

    Takes one boolean array per session. The mean is that of all sessions: if sessions differ, their
    samples stay correlated to the end and count for little, as they should.
    """
    n = sum(indicator.size for indicator in indicators)
    share = sum(int(np.count_nonzero(indicator)) for indicator in indicators) / n
    if share in (0.0, 1.0):
        return 1.0
    products = np.zeros(max(indicator.size for indicator in indicators))
    for indicator in indicators:
        products[: indicator.size] += _lagged_products(indicator.astype(np.float64) - share)
    # Divided by n, not by the pairs at each lag: these are the weights in the variance of the mean.
    correlation = products[1:] / products[0]
    ends = np.flatnonzero(correlation < UNCORRELATED)
    return 1.0 + 2.0 * float(correlation[: ends[0] if ends.size else None].sum())


def _lagged_products(values: FloatArray) -> FloatArray:
    """Σ v(t) v(t+lag) for every lag, by Fourier transform, as 200 000 samples are common."""
    padded = 1 << (2 * values.size - 1).bit_length()
    spectrum = np.fft.rfft(values, padded)
    power = (spectrum * spectrum.conj()).real
    return np.fft.irfft(power, padded)[: values.size]
