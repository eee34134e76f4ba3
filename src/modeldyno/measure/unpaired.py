"""Two numbers that were measured apart: their ratio, with an interval that owns up to it.

In a comparison both sides meet the same machine at the same moment. Here they did not, so all that
sessions differ by counts on both sides: Welch's t on logarithms, one figure per session. What the
machine did to all sessions of one run alike is in neither interval; measure in alternation to be
rid of that (docs/measuring.md, comparing).
"""

from __future__ import annotations

from math import exp, log

from modeldyno.core.results import FEWEST_SESSIONS, Estimate
from modeldyno.measure.student import half_interval

LEVEL = 0.95


def is_over_sessions(one: Estimate) -> bool:
    """Whether its interval knows what differs between sessions."""
    return one.units == "sessions" and one.n >= FEWEST_SESSIONS and one.low > 0


def unpaired_ratio(a: Estimate, b: Estimate, items: tuple[int, int] = (1, 1)) -> Estimate:
    """B's time by A's, per item; both must be ``is_over_sessions``. ``n`` is the smaller one's."""
    centre = log(b.value / items[1]) - log(a.value / items[0])
    squares = _squared_error(a), _squared_error(b)
    error = sum(squares)
    parts = sum(one**2 / (side.n - 1) for one, side in zip(squares, (a, b), strict=True))
    freedom = error**2 / parts if parts else float(a.n + b.n - 2)
    half = half_interval(LEVEL, freedom) * error**0.5
    low, high = exp(centre - half), exp(centre + half)
    return Estimate(exp(centre), low, high, LEVEL, min(a.n, b.n), "sessions")


def _squared_error(one: Estimate) -> float:
    """The squared standard error of the mean logarithm, read back from the interval."""
    half = (log(one.high) - log(one.low)) / 2
    return (half / half_interval(one.level, one.n - 1)) ** 2
