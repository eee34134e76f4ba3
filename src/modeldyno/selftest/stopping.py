"""T13: does an interval still hold when the data chose the moment to stop?

Simulated sessions, half of the runs with 5 % of them disturbed, go through the stop rule that
ships until it stops them; then pairs without a difference through the adaptive looks. Controls:
stopping from 3 sessions on at 95 %, and looking for significance after every pair.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from math import exp

import numpy as np

from modeldyno.core.results import StopReason
from modeldyno.core.specs import DEFAULT, Budget
from modeldyno.measure.statistics import log_t, mean_t
from modeldyno.measure.stopping import (
    FIXED_LEVEL,
    LOOKS,
    choose_stop_reason,
    look_level,
    published_level,
)
from modeldyno.selftest.outcome import Outcome

FLOOR_SD, TYPICAL_SD = 0.0085, 0.03  # between sessions; the typical keeps the rule waiting
DISTURBED, DISTURBANCE = 0.05, 3.0  # of the sessions, by so many of their standard deviations
SESSION_COST_S = 0.36  # so that about 28 sessions fit the default budget
HASTY = replace(DEFAULT, min_sessions=3)
COVERS, LOOKS_REJECT, CONTROL_REJECTS = 0.94, 0.065, 0.15


@dataclass(frozen=True)
class SimulatedRun:
    """Why a simulated run stopped, and whether its two intervals contain the truth."""

    reason: StopReason
    floor_covers: bool
    typical_covers: bool


def run(runs: int = 4000, seed: int = 13) -> Outcome:
    rng = np.random.default_rng(seed)
    stopped = [_run_until_stopped(rng, DEFAULT, i % 2 == 1, published_level) for i in range(runs)]
    hasty = [_run_until_stopped(rng, HASTY, i % 2 == 1, _level_for_any_reason) for i in range(runs)]
    pairs = rng.normal(0, FLOOR_SD, (runs, LOOKS[-1])).tolist()
    floor = _share_of_true([simulated.floor_covers for simulated in stopped])
    typical = _share_of_true([simulated.typical_covers for simulated in stopped])
    looks = _share_of_true([_planned_looks_reject(row) for row in pairs])
    hasty_typical = _share_of_true([simulated.typical_covers for simulated in hasty])
    peeking = _share_of_true([_peeking_rejects(row) for row in pairs])
    passed = (
        min(floor, typical) >= COVERS > hasty_typical
        and looks <= LOOKS_REJECT
        and peeking >= CONTROL_REJECTS
    )
    return Outcome(
        passed=passed,
        observed={
            "coverage_floor": floor,
            "coverage_typical": typical,
            "looks_reject": looks,
            "stop_reasons": dict(Counter(simulated.reason for simulated in stopped)),
            "runs": runs,
        },
        threshold={
            "coverage": COVERS,
            "looks_reject": LOOKS_REJECT,
            "hasty_coverage_typical": COVERS,
            "peeking_rejects": CONTROL_REJECTS,
        },
        control={"hasty_coverage_typical": hasty_typical, "peeking_rejects": peeking},
        seed=seed,
        notes=("intervals are published at 97 % when the data stopped the run, else at 95 %",),
    )


def _share_of_true(claims: list[bool]) -> float:
    return sum(claims) / len(claims)


def _level_for_any_reason(_reason: StopReason) -> float:
    return FIXED_LEVEL


def _run_until_stopped(
    rng: np.random.Generator,
    budget: Budget,
    disturbed: bool,
    level: Callable[[StopReason], float],
) -> SimulatedRun:
    floors: list[float] = []
    typicals: list[float] = []
    share = DISTURBED if disturbed else 0.0
    reason = None
    while reason is None:
        noise = rng.normal(size=2) + DISTURBANCE * (rng.random(2) < share)
        floors.append(exp(FLOOR_SD * noise[0]))
        typicals.append(exp(TYPICAL_SD * noise[1]))
        reason = choose_stop_reason(floors, typicals, budget, len(floors) * SESSION_COST_S)
    shift = share * DISTURBANCE
    return SimulatedRun(
        reason,
        _covers(floors, exp(FLOOR_SD * shift), level(reason)),
        _covers(typicals, exp(TYPICAL_SD * shift), level(reason)),
    )


def _covers(values: list[float], truth: float, level: float) -> bool:
    estimate = log_t(values, level, "sessions")
    return estimate.low <= truth <= estimate.high


def _planned_looks_reject(pairs: list[float]) -> bool:
    return any(
        _excludes_zero(pairs[:n], level)
        for n in range(2, len(pairs) + 1)
        if (level := look_level(n)) is not None
    )


def _peeking_rejects(pairs: list[float]) -> bool:
    return any(_excludes_zero(pairs[:n], FIXED_LEVEL) for n in range(3, len(pairs) + 1))


def _excludes_zero(pairs: list[float], level: float) -> bool:
    estimate = mean_t(pairs, level, "pairs")
    return not estimate.low <= 0 <= estimate.high
