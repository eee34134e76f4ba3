"""The ratio of two numbers that were measured separately, with an honest interval.

In a comparison, both sides meet the same machine at the same time. Here they did not, so the
differences between sessions count on both sides: Welch's t on logarithms, one figure per session.
Neither interval includes what affected all sessions of a run; only a comparison that alternates
between both sides removes that (docs/measuring.md, comparing).
"""

from __future__ import annotations

from math import exp, log

from modeldyno.core.results import FEWEST_SESSIONS, Estimate
from modeldyno.measure.student import half_interval

LEVEL = 0.95


def is_over_sessions(estimate: Estimate) -> bool:
    """Whether the interval includes the differences between sessions."""
    return estimate.units == "sessions" and estimate.n >= FEWEST_SESSIONS and estimate.low > 0


def unpaired_ratio(a: Estimate, b: Estimate, items: tuple[int, int] = (1, 1)) -> Estimate:
    """B's time over A's, per item; both must be ``is_over_sessions``. ``n`` is the smaller n."""
    centre = log(b.value / items[1]) - log(a.value / items[0])
    squares = _squared_error(a), _squared_error(b)
    error = sum(squares)
    parts = sum(square**2 / (side.n - 1) for square, side in zip(squares, (a, b), strict=True))
    freedom = error**2 / parts if parts else float(a.n + b.n - 2)
    half = half_interval(LEVEL, freedom) * error**0.5
    low, high = exp(centre - half), exp(centre + half)
    return Estimate(exp(centre), low, high, LEVEL, min(a.n, b.n), "sessions")


def _squared_error(estimate: Estimate) -> float:
    """The squared standard error of the mean logarithm, read back from the interval."""
    half = (log(estimate.high) - log(estimate.low)) / 2
    return (half / half_interval(estimate.level, estimate.n - 1)) ** 2
