"""T1: does a model that is compared with itself come out as different?

Pairs of 0.1 s through the real comparison path. Each disjoint group of 8 pairs is a small
comparison, and 5 % of them may reject "no difference". Control: the usual Mann–Whitney test over
single samples rejects far more often on the very same pairs.
"""

from __future__ import annotations

from modeldyno.core.sessions import Pair
from modeldyno.selftest.controls import mann_whitney_p_value
from modeldyno.selftest.outcome import Outcome
from modeldyno.selftest.scratch_workspace import (
    estimate_by_group,
    log_to_percent,
    pooled_estimate,
    scratch_workspace,
    wall_samples,
)

LAYERS = 100
# Groups, and how many of them may reject: 0.3 % of honest builds exceed 8 of 60, 0.6 % 2 of 8.
FULL, SHORT = (60, 8), (8, 2)
CONTROL_SHARE, CONTROL_P = 0.25, 0.05


def run(short: bool = False, seed: int = 1) -> Outcome:
    count, most = SHORT if short else FULL
    with scratch_workspace() as scratch:
        (model,) = scratch.make_stack_models(LAYERS)
        result, pairs = scratch.compare_short_pairs(model, model, 8 * count, seed)
    estimates = estimate_by_group(pairs)
    rejecting = sum(not estimate.low <= 0 <= estimate.high for estimate in estimates)
    pooled = pooled_estimate(pairs)
    share = sum(_samples_differ(pair) for pair in pairs) / len(pairs)
    return Outcome(
        passed=len(estimates) == count and rejecting <= most and share >= CONTROL_SHARE,
        observed={
            "rejecting_groups": rejecting,
            "groups": len(estimates),
            "all_pairs_percent": log_to_percent(pooled.value),
            "all_pairs_half_width_percent": log_to_percent(pooled.half_width),
            "contention": result.contention,
            "floor_us": round(1e6 * result.a.floor_s, 2),
        },
        threshold={"rejecting_groups": most, "mann_whitney_rejects": CONTROL_SHARE},
        control={"mann_whitney_rejects": share},
        seed=seed,
    )


def _samples_differ(pair: Pair) -> bool:
    """The verdict of a test that treats every sample as independent."""
    return mann_whitney_p_value(*wall_samples(pair)) < CONTROL_P
