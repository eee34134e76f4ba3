"""T1: does a model that is compared with itself come out as different?

Pairs of 0.1 s through the real comparison path. Each disjoint group of 8 pairs is a small
comparison, and 5 % of them may reject "no difference". Control: the usual Mann–Whitney test over
single samples rejects far more often on the very same pairs.
"""

from __future__ import annotations

from time import perf_counter

from modeldyno.core.sessions import Pair
from modeldyno.measure.statistics import seconds_per_call
from modeldyno.selftest import synthetic_models
from modeldyno.selftest.controls import mann_whitney
from modeldyno.selftest.outcome import Outcome
from modeldyno.selftest.scratch_workspace import estimate, groups, percent, scratch_workspace

LAYERS = 100
# Groups, and how many of them may reject: 0.3 % of honest builds exceed 8 of 60, 0.6 % 2 of 8.
FULL, SHORT = (60, 8), (8, 2)
CONTROL_SHARE, CONTROL_P = 0.25, 0.05


def run(short: bool = False, seed: int = 1) -> Outcome:
    start = perf_counter()
    count, most = SHORT if short else FULL
    with scratch_workspace() as scratch:
        model = synthetic_models.stack(scratch.folder, LAYERS)
        result, pairs = scratch.compare_short_pairs(model, model, 8 * count, seed)
    found = groups(pairs)
    rejecting = sum(not group.low <= 0 <= group.high for group in found)
    all_pairs = estimate(pairs)
    share = sum(_samples_differ(pair) for pair in pairs) / len(pairs)
    return Outcome(
        id="T1",
        name="aa",
        passed=len(found) == count and rejecting <= most and share >= CONTROL_SHARE,
        observed={
            "rejecting_groups": rejecting,
            "groups": len(found),
            "all_pairs_percent": percent(all_pairs.value),
            "all_pairs_half_width_percent": percent(all_pairs.half_width),
            "contention": result.contention,
            "floor_us": round(1e6 * result.a.floor_s, 2),
        },
        threshold={"rejecting_groups": most, "mann_whitney_rejects": CONTROL_SHARE},
        control={"mann_whitney_rejects": share},
        seed=seed,
        seconds=perf_counter() - start,
    )


def _samples_differ(pair: Pair) -> bool:
    """What a test says that takes every sample for a unit."""
    a, b = (
        seconds_per_call(side.samples.wall_ns, side.samples.calls_per_sample)
        for side in (pair.a, pair.b)
    )
    return mann_whitney(a, b) < CONTROL_P
