"""T2: is a known difference found, and is its size right?

A stack of 105 layers against one of 100, in groups of 8 short pairs; then 102 against 100, all
pairs together. Control: with the sides swapped the difference has the other sign.
"""

from __future__ import annotations

from modeldyno.selftest.outcome import Outcome
from modeldyno.selftest.scratch_workspace import (
    estimate_by_group,
    log_to_percent,
    pooled_estimate,
    scratch_workspace,
)

# Groups of the 105-layer stack, and how many must see it; a single group does in 95 of 100 cases.
FULL, SHORT = (20, 17), (5, 3)
SMALL_PAIRS, SMALL_PERCENT = 128, (1.0, 2.8)  # of the 102-layer stack
SWAPPED_PAIRS = 16


def run(short: bool = False, seed: int = 2) -> Outcome:
    count, least = SHORT if short else FULL
    with scratch_workspace() as scratch:
        base, larger = scratch.make_stack_models(100, 105)
        _, pairs = scratch.compare_short_pairs(base, larger, 8 * count, seed)
        _, swapped_pairs = scratch.compare_short_pairs(larger, base, SWAPPED_PAIRS, seed)
        (slightly,) = scratch.make_stack_models(102)
        small_pairs = [] if short else scratch.compare_short_pairs(base, slightly, SMALL_PAIRS)[1]
    estimates = estimate_by_group(pairs)
    seeing = sum(estimate.low > 0 for estimate in estimates)
    large, swapped = pooled_estimate(pairs), pooled_estimate(swapped_pairs)
    observed: dict[str, object] = {
        "groups_seeing_105": seeing,
        "groups": len(estimates),
        "all_105_percent": log_to_percent(large.value),
        "all_105_half_width_percent": log_to_percent(large.half_width),
    }
    threshold: dict[str, object] = {"groups_seeing_105": least, "swapped_percent": "below 0"}
    passed = seeing >= least and swapped.high < 0
    if small_pairs:
        small = pooled_estimate(small_pairs)
        low, high = SMALL_PERCENT
        observed["all_102_percent"] = log_to_percent(small.value)
        observed["all_102_half_width_percent"] = log_to_percent(small.half_width)
        threshold["all_102_percent"] = SMALL_PERCENT
        passed = passed and small.low > 0 and low <= log_to_percent(small.value) <= high
    return Outcome(
        passed=passed,
        observed=observed,
        threshold=threshold,
        control={
            "swapped_percent": log_to_percent(swapped.value),
            "swapped_half_width_percent": log_to_percent(swapped.half_width),
        },
        seed=seed,
    )
