"""T17: does the same comparison, repeated, say the same?

102 layers against 100, several times over. Nearly all intervals must contain the estimate of all
pairs together, and no two verdicts may contradict each other. Control: intervals of single pairs,
with every sample counted as independent, miss it far more often than they promise.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log

from modeldyno.core.sessions import Pair
from modeldyno.measure.statistics import FLOOR
from modeldyno.selftest.controls import quantile_ratio_interval
from modeldyno.selftest.outcome import Outcome
from modeldyno.selftest.scratch_workspace import (
    LEVEL,
    log_to_percent,
    pooled_estimate,
    scratch_workspace,
    wall_samples,
)


@dataclass(frozen=True)
class RepetitionParameters:
    runs: int
    budget_s: float
    holding: int  # runs whose interval must contain the pooled estimate
    naive_share: float  # of the control's intervals that may, although they promise 95 %


FULL = RepetitionParameters(runs=6, budget_s=10, holding=5, naive_share=0.80)
SHORT = RepetitionParameters(runs=4, budget_s=3, holding=3, naive_share=0.85)


def run(short: bool = False, seed: int = 17) -> Outcome:
    parameters = SHORT if short else FULL
    with scratch_workspace() as scratch:
        base, larger = scratch.make_stack_models(100, 102)
        results = [
            scratch.compare_for(base, larger, parameters.budget_s, seed + number)
            for number in range(parameters.runs)
        ]
        pairs = [scratch.read_pairs(result) for result in results]
    all_pairs = [pair for of_a_run in pairs for pair in of_a_run]
    pooled = pooled_estimate(all_pairs)
    intervals = [(log(result.ratio.low), log(result.ratio.high)) for result in results]
    holding = sum(low <= pooled.value <= high for low, high in intervals)
    naive = [low <= pooled.value <= high for low, high in map(_interval_by_samples, all_pairs)]
    naive_share = sum(naive) / len(naive)
    verdicts = [result.verdict for result in results]
    passed = (
        holding >= parameters.holding
        and not {"slower", "faster"} <= set(verdicts)
        and naive_share <= parameters.naive_share
    )
    return Outcome(
        passed=passed,
        observed={
            "intervals_holding_pooled": holding,
            "runs": parameters.runs,
            "verdicts": verdicts,
            "pooled_percent": log_to_percent(pooled.value),
            "intervals_percent": [
                [log_to_percent(low), log_to_percent(high)] for low, high in intervals
            ],
        },
        threshold={
            "intervals_holding_pooled": parameters.holding,
            "verdicts": "not both slower and faster",
            "sample_intervals_holding_pooled": parameters.naive_share,
        },
        control={"sample_intervals_holding_pooled": round(naive_share, 3)},
        seed=seed,
    )


def _interval_by_samples(pair: Pair) -> tuple[float, float]:
    """The interval of the log-ratio that the samples of this pair alone give."""
    return quantile_ratio_interval(*wall_samples(pair), FLOOR, LEVEL)
