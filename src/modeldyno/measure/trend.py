"""Whether the latency moved during the measurement. If so, the number is kept but marked.

Compares lower quartiles of the first and last third of the time: they must differ by more than
2 % and their intervals must not overlap (docs/measuring.md, warm-up). Two kinds of movement count:
across the run (a throttling machine) and inside every session (an engine that slows down with
use). Periodic changes are neither.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import sqrt

import numpy as np

from modeldyno.core.results import Estimate
from modeldyno.measure.statistics import (
    WORK,
    FloatArray,
    exp_estimate,
    log_ratio,
    log_t,
    lower_quartile,
    mean_t,
)
from modeldyno.measure.tails import exceedance_time, fewest_samples, order_statistics

MOVED = 0.02
LEVEL = 0.95
ENOUGH_PER_THIRD = 4  # sessions, for a t interval to say anything
ENOUGH_SESSIONS = 4
PLACEMENT_SD = 0.012  # between sessions of one file, the largest observed (docs/measuring.md)


def has_level_moved(sessions: Sequence[FloatArray]) -> bool:
    """Whether the level moved; sessions and samples are in the order they were taken."""
    return moved_across(sessions) or moved_within(sessions)


def moved_across(sessions: Sequence[FloatArray]) -> bool:
    """Whether the last third of the run is slower or faster than the first."""
    third = len(sessions) // 3
    if third >= ENOUGH_PER_THIRD:
        quartiles = [lower_quartile(session) for session in sessions]
        first, last = (
            log_t(part, LEVEL, "sessions") for part in (quartiles[:third], quartiles[-third:])
        )
        return _do_differ(first, last)
    early, late = _outer_thirds(sessions)
    # Too few sessions to measure their own spread, so we assume the usual one.
    spread = PLACEMENT_SD / sqrt(max(1.0, len(sessions) / 3)) if len(sessions) > 1 else 0.0
    return _do_parts_differ(early, late, spread)


def moved_within(sessions: Sequence[FloatArray]) -> bool:
    """Whether all sessions end slower, or all faster, than they began."""
    thirds = [_outer_thirds([session]) for session in sessions]
    if len(sessions) < ENOUGH_SESSIONS:
        return all(_do_parts_differ(early, late, 0.0) for early, late in thirds)
    ratios = [log_ratio(early[0], late[0], WORK) for early, late in thirds]
    change = exp_estimate(mean_t(ratios, LEVEL, "sessions"))
    return abs(change.value - 1) > MOVED and not change.low <= 1 <= change.high


def _do_differ(first: Estimate, last: Estimate) -> bool:
    differ = abs(last.value / first.value - 1) > MOVED
    return differ and (first.high < last.low or last.high < first.low)


def _do_parts_differ(
    early: Sequence[FloatArray], late: Sequence[FloatArray], spread: float
) -> bool:
    first, last = _estimate_quartile(early, spread), _estimate_quartile(late, spread)
    return first is not None and last is not None and _do_differ(first, last)


def _estimate_quartile(parts: Sequence[FloatArray], spread: float) -> Estimate | None:
    """The lower quartile between order statistics; None if there are too few samples."""
    samples = np.concatenate(parts)
    # Uses each session's own τ: ``spread`` covers the differences between sessions.
    effective = sum(part.size / exceedance_time([part], WORK) for part in parts)
    if effective < fewest_samples(WORK, LEVEL):
        return None
    quartile, low, high = order_statistics(samples, WORK, LEVEL, effective)
    between_sessions = 1.96 * spread * quartile
    low = quartile - sqrt((quartile - low) ** 2 + between_sessions**2)
    high = quartile + sqrt((high - quartile) ** 2 + between_sessions**2)
    return Estimate(quartile, low, high, LEVEL, samples.size, "samples")


def _outer_thirds(
    sessions: Sequence[FloatArray],
) -> tuple[list[FloatArray], list[FloatArray]]:
    """The samples of the first and of the last third of the time, by session.

    By time, not by count: after a threefold slowdown, the last third of the samples would include
    many from before it. Both parts hold at least one sample.
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
