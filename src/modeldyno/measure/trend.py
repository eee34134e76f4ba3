"""Did the level move while we measured? A run that moved keeps its number and loses its badge.

Judged by lower quartiles, first third of the time against the last: they must differ by more than
2 % and their intervals must not overlap (docs/measuring.md, warm-up). Two ways to move are looked
for: across the run (a throttling machine) and inside every session alike (an engine that slows
down as it is used). Something periodic does neither.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import sqrt

import numpy as np

from modeldyno.core.results import Estimate
from modeldyno.measure.statistics import WORK, FloatArray, exp_estimate, log_ratio, log_t, mean_t
from modeldyno.measure.statistics import work as lower_quartile
from modeldyno.measure.tails import exceedance_time, fewest_samples, order_statistics

MOVED = 0.02
LEVEL = 0.95
ENOUGH_PER_THIRD = 4  # sessions, for a t interval to say anything
ENOUGH_SESSIONS = 4
PLACEMENT = 0.012  # sd between sessions of one file, the largest seen (docs/measuring.md)


def trend(sessions: Sequence[FloatArray]) -> bool:
    """Whether the samples of these sessions, in the order taken, tell of a moving level."""
    return moved_across(sessions) or moved_within(sessions)


def moved_across(sessions: Sequence[FloatArray]) -> bool:
    """Whether the last third of the run is slower or faster than the first."""
    each = len(sessions) // 3
    if each >= ENOUGH_PER_THIRD:
        quartiles = [lower_quartile(session) for session in sessions]
        first, last = (
            log_t(part, LEVEL, "sessions") for part in (quartiles[:each], quartiles[-each:])
        )
        return _apart(first, last)
    early, late = _outer_thirds(sessions)
    # Few sessions: their own spread cannot be measured, so the usual one is allowed for.
    spread = PLACEMENT / sqrt(max(1.0, len(sessions) / 3)) if len(sessions) > 1 else 0.0
    return _parts_apart(early, late, spread)


def moved_within(sessions: Sequence[FloatArray]) -> bool:
    """Whether sessions end slower or faster than they began, all of them alike."""
    thirds = [_outer_thirds([session]) for session in sessions]
    if len(sessions) < ENOUGH_SESSIONS:
        return all(_parts_apart(early, late, 0.0) for early, late in thirds)
    ratios = [log_ratio(early[0], late[0], WORK) for early, late in thirds]
    change = exp_estimate(mean_t(ratios, LEVEL, "sessions"))
    return abs(change.value - 1) > MOVED and not change.low <= 1 <= change.high


def _apart(first: Estimate, last: Estimate) -> bool:
    differ = abs(last.value / first.value - 1) > MOVED
    return differ and (first.high < last.low or last.high < first.low)


def _parts_apart(early: Sequence[FloatArray], late: Sequence[FloatArray], spread: float) -> bool:
    first, last = _quartile(early, spread), _quartile(late, spread)
    return first is not None and last is not None and _apart(first, last)


def _quartile(parts: Sequence[FloatArray], spread: float) -> Estimate | None:
    """The lower quartile between order statistics; None when there are too few to tell."""
    samples = np.concatenate(parts)
    # Each session's own τ: what differs between sessions is in ``spread`` already.
    effective = sum(part.size / exceedance_time([part], WORK) for part in parts)
    if effective < fewest_samples(WORK, LEVEL):
        return None
    value, low, high = order_statistics(samples, WORK, LEVEL, effective)
    placed = 1.96 * spread * value
    low = value - sqrt((value - low) ** 2 + placed**2)
    high = value + sqrt((high - value) ** 2 + placed**2)
    return Estimate(value, low, high, LEVEL, samples.size, "samples")


def _outer_thirds(
    sessions: Sequence[FloatArray],
) -> tuple[list[FloatArray], list[FloatArray]]:
    """What was taken in the first and in the last third of the time, still apart by session.

    By time, not by count: after a threefold slowdown the last third of the samples began long
    before it. Both parts hold at least one sample.
    """
    ends = np.cumsum([float(session.sum()) for session in sessions])
    early: list[FloatArray] = []
    late: list[FloatArray] = []
    for session, (start, _) in zip(sessions, pairwise([0.0, *ends]), strict=True):
        middles = start + np.cumsum(session) - session / 2
        early.append(session[middles <= ends[-1] / 3])
        late.append(session[middles >= ends[-1] * 2 / 3])
    return (
        [part for part in early if part.size] or [sessions[0][:1]],
        [part for part in late if part.size] or [sessions[-1][-1:]],
    )
