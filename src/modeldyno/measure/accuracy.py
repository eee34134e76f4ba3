"""How sure an accuracy is, and how two models differ on the same samples.

The unit of statistics is the sample. Shares of right answers have Wilson's interval; two of them
are compared by the samples that only one model gets right: McNemar's test (mid-p), and Tango's
interval, which comes from the same score. Everything else is drawn again from the samples, whole
images or sentences, for both models together; the seed is kept, so that it can be repeated.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import NormalDist
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from modeldyno.datasets.protocol import Merges, Metric, Outcome

LEVEL = 0.95
RESAMPLES = 1000
FEWEST_SAMPLES = 2  # of those that are drawn again
_STEPS = 100  # of halving: far below what a float can hold

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class AccuracyEstimate:
    """A figure of all samples, and the interval that covers what it would be over many more."""

    value: float
    low: float
    high: float
    level: float
    n: int
    method: Literal["wilson", "bootstrap"]
    seed: int | None = None  # of what was drawn


@dataclass(frozen=True)
class AccuracyDifference:
    """B's figure minus A's; ``p`` is how often chance alone gives one at least as far from zero."""

    value: float
    low: float
    high: float
    level: float
    n: int
    p: float
    method: Literal["mcnemar", "bootstrap"]
    seed: int | None = None
    only_a: int | None = None  # samples that A alone gets right
    only_b: int | None = None


def estimate_accuracy(
    metric: Metric, outcomes: Sequence[Outcome], *, level: float = LEVEL, seed: int = 0
) -> dict[str, AccuracyEstimate]:
    """By the names of the metric's figures, the headline first."""
    outcomes = _independent(metric, outcomes)
    values, n = metric.summarize(outcomes), len(outcomes)
    if metric.is_proportion:
        shares = {
            name: wilson_interval(round(value * n), n, level) for name, value in values.items()
        }
        return {
            name: AccuracyEstimate(value, *shares[name], level, n, "wilson")
            for name, value in values.items()
        }

    def summarize(chosen: NDArray[np.int64]) -> FloatArray:
        return np.array([*metric.summarize([outcomes[at] for at in chosen]).values()])

    drawn = _draw(summarize, n, seed)
    return {
        name: AccuracyEstimate(value, *_middle(drawn[:, at], level), level, n, "bootstrap", seed)
        for at, (name, value) in enumerate(values.items())
    }


def compare_accuracy(
    metric: Metric,
    a: Sequence[Outcome],
    b: Sequence[Outcome],
    *,
    level: float = LEVEL,
    seed: int = 0,
) -> dict[str, AccuracyDifference]:
    """Of two models on the same samples, in the same order. Raises ValueError if these differ."""
    a, b = _independent(metric, a), _independent(metric, b)
    if len(a) != len(b):
        raise ValueError(f"pairs need the same samples, not {len(a)} and {len(b)}")
    if metric.is_proportion:
        hits_a, hits_b = _hits(metric, a), _hits(metric, b)
        return {name: compare_hits(hits_a[name], hits_b[name], level) for name in hits_a}
    values_a, values_b = metric.summarize(a), metric.summarize(b)

    def differ(chosen: NDArray[np.int64]) -> FloatArray:
        of_a, of_b = (metric.summarize([side[at] for at in chosen]) for side in (a, b))
        return np.array([of_b[name] - of_a[name] for name in values_a])

    drawn = _draw(differ, len(a), seed)
    return {
        name: AccuracyDifference(
            value=values_b[name] - values_a[name],
            low=_middle(drawn[:, at], level)[0],
            high=_middle(drawn[:, at], level)[1],
            level=level,
            n=len(a),
            p=_share_beyond_zero(drawn[:, at]),
            method="bootstrap",
            seed=seed,
        )
        for at, name in enumerate(values_a)
    }


# ---------------------------------------------------------------- right or wrong


def wilson_interval(right: int, n: int, level: float = LEVEL) -> tuple[float, float]:
    """Never outside of 0 to 1, and sensible where all or none are right."""
    if not 0 <= right <= n or n < 1:
        raise ValueError(f"{right} of {n} is no share")
    z2 = _z(level) ** 2
    middle = (right + z2 / 2) / (n + z2)
    half = sqrt(z2) / (n + z2) * sqrt(right * (n - right) / n + z2 / 4)
    # At the ends the formula gives 0 and 1 but for rounding.
    return (0.0 if right == 0 else middle - half), (1.0 if right == n else middle + half)


def compare_hits(a: Sequence[bool], b: Sequence[bool], level: float = LEVEL) -> AccuracyDifference:
    """B's share of right answers minus A's."""
    right_a, right_b = np.asarray(a, dtype=bool), np.asarray(b, dtype=bool)
    only_a, only_b = int((right_a & ~right_b).sum()), int((right_b & ~right_a).sum())
    n = len(right_a)
    low, high = tango_interval(only_a, only_b, n, level)
    return AccuracyDifference(
        value=(only_b - only_a) / n,
        low=low,
        high=high,
        level=level,
        n=n,
        p=mcnemar_p(only_a, only_b),
        method="mcnemar",
        only_a=only_a,
        only_b=only_b,
    )


def mcnemar_p(only_a: int, only_b: int) -> float:
    """Mid-p: twice the probability of fewer, and half of twice that of as many. Exact integers:
    no approximation, however few samples there are."""
    n, fewer = only_a + only_b, min(only_a, only_b)
    ways, below = 1, 0  # to choose ``at`` of n; of all smaller numbers together
    for at in range(fewer):
        below += ways
        ways = ways * (n - at) // (at + 1)
    return (2 * below + ways) / (1 << n)


def tango_interval(only_a: int, only_b: int, n: int, level: float = LEVEL) -> tuple[float, float]:
    """The differences that a score test does not reject (Tango 1998)."""
    z = _z(level)
    return (
        _solve(lambda difference: _tango_score(only_a, only_b, n, difference) > z),
        _solve(lambda difference: _tango_score(only_a, only_b, n, difference) > -z),
    )


def _tango_score(only_a: int, only_b: int, n: int, difference: float) -> float:
    """How far what was seen is from a true difference, in standard errors: it falls as that rises.

    The likeliest share of samples that only A gets right, given the difference, solves a quadratic
    equation; the share that only B gets right is that plus the difference.
    """
    linear = (2 * n - only_b + only_a) * difference - only_a - only_b
    constant = -only_a * difference * (1 - difference)
    share = (sqrt(max(0.0, linear**2 - 8 * n * constant)) - linear) / (4 * n)
    variance = n * (2 * share + difference * (1 - difference))
    away = only_b - only_a - n * difference
    if variance <= 0:
        return float("inf") if away > 0 else float("-inf") if away < 0 else 0.0
    return away / sqrt(variance)


def _solve(is_below: Callable[[float], bool]) -> float:
    low, high = -1.0, 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if is_below(middle) else (low, middle)
    return (low + high) / 2


def _z(level: float) -> float:
    return NormalDist().inv_cdf((1 + level) / 2)


def _hits(metric: Metric, outcomes: Sequence[Outcome]) -> dict[str, list[bool]]:
    """Of each sample, by figure."""
    seen = {repr(outcome): outcome for outcome in outcomes}
    single = {key: metric.summarize([outcome]) for key, outcome in seen.items()}
    rows = [single[repr(outcome)] for outcome in outcomes]
    return {name: [bool(row[name]) for row in rows] for name in rows[0]}


# ---------------------------------------------------------------- drawn again


def _independent(metric: Metric, outcomes: Sequence[Outcome]) -> Sequence[Outcome]:
    return metric.merge(outcomes) if isinstance(metric, Merges) else outcomes


def _draw(summarize: Callable[[NDArray[np.int64]], FloatArray], n: int, seed: int) -> FloatArray:
    """Draws × figures, each of n samples with some more than once."""
    if n < FEWEST_SAMPLES:
        raise ValueError(f"an interval needs at least {FEWEST_SAMPLES} samples, not {n}")
    random = np.random.default_rng(seed)
    return np.array([summarize(random.integers(0, n, n)) for _ in range(RESAMPLES)])


def _middle(drawn: FloatArray, level: float) -> tuple[float, float]:
    """Without draws in which a figure is unknown: an area under a curve needs both answers."""
    known = drawn[np.isfinite(drawn)]
    if not known.size:
        return float("nan"), float("nan")
    low, high = np.quantile(known, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def _share_beyond_zero(drawn: FloatArray) -> float:
    """Two-sided; never zero, for more draws might have gone there."""
    known = drawn[np.isfinite(drawn)]
    fewer = min((known <= 0).sum(), (known >= 0).sum())
    return min(1.0, 2 * (int(fewer) + 1) / (len(known) + 1))
