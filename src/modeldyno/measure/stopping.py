"""When to stop: precise enough, no longer improving, or out of time.

Looking at the data to decide when to stop costs confidence. The width rule uses 97 % so that
published intervals still cover at least 95 %; testing for significance after every unit would
raise false positives from 5 % to more than 25 % (docs/measuring.md, stopping).
"""

from __future__ import annotations

from collections.abc import Sequence

from modeldyno.core.results import StopReason
from modeldyno.core.specs import Budget
from modeldyno.measure.statistics import log_t

FIXED_LEVEL = 0.95  # n was fixed beforehand, by count or by time
STOPPED_LEVEL = 0.97  # the data decided when to stop
FLAT_FROM = 16  # sessions; fewer do not show whether the width still shrinks
STILL_SHRINKING = 0.9  # of the width at half the sessions; plain averaging would reach 0.71

LOOKS = (8, 16, 32)  # pairs at which an adaptive comparison may end
LOOK_LEVEL = 0.978  # Pocock: 2.21 % at each of three looks keeps 5 % overall


def choose_stop_reason(
    floors: Sequence[float],
    typicals: Sequence[float],
    budget: Budget,
    elapsed_s: float,
    session_s: float = 0.0,
) -> StopReason | None:
    """Whether to stop measuring a cell, given the floor and typical of each session so far. Another
    session takes about ``session_s``, and has to fit its budget."""
    is_over = elapsed_s + session_s >= budget.seconds
    targets = _precision_targets(floors, typicals, budget)
    if len(floors) >= max(2, budget.min_sessions) and targets:
        unmet = [values for values, width in targets if relative_width(values) > width]
        if not unmet:
            return "precise"
        if not is_over and all(has_stopped_narrowing(values) for values in unmet):
            return "flat"
    return "budget" if is_over else None


def published_level(reason: StopReason) -> float:
    """The level of a published interval: higher if the data decided when to stop."""
    return STOPPED_LEVEL if reason in ("precise", "flat") else FIXED_LEVEL


def relative_width(values: Sequence[float]) -> float:
    """Half the 97 % interval as a share of the value."""
    return log_t(values, STOPPED_LEVEL, "sessions").relative


def has_stopped_narrowing(values: Sequence[float]) -> bool:
    """Whether the second half of the sessions hardly narrowed the interval: more will not help."""
    if len(values) < FLAT_FROM:
        return False
    return relative_width(values) > STILL_SHRINKING * relative_width(values[: len(values) // 2])


def look_level(pairs: int) -> float | None:
    """The interval level at which an adaptive comparison may end here; None between looks."""
    return LOOK_LEVEL if pairs in LOOKS else None


def _precision_targets(
    floors: Sequence[float], typicals: Sequence[float], budget: Budget
) -> list[tuple[Sequence[float], float]]:
    """The figures whose precision the budget sets, each with its relative half-width."""
    targets = ((floors, budget.floor_half_width), (typicals, budget.typical_half_width))
    return [(values, width) for values, width in targets if width is not None]
