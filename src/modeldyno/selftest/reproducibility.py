"""T17: does the same comparison, repeated, say the same?

102 layers against 100, several times over. Nearly all intervals must hold what all pairs say
together, and no two verdicts may contradict each other. Control: intervals of single pairs, with
every sample counted as a unit, miss it far more often than they promise.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log
from time import perf_counter

from modeldyno.core.results import ComparisonResult
from modeldyno.core.sessions import Pair
from modeldyno.measure.statistics import FLOOR, seconds_per_call
from modeldyno.selftest import synthetic_models
from modeldyno.selftest.controls import quantile_ratio
from modeldyno.selftest.outcome import Outcome
from modeldyno.selftest.scratch_workspace import LEVEL, estimate, percent, scratch_workspace


@dataclass(frozen=True)
class RepetitionParameters:
    runs: int
    budget_s: float
    holding: int  # runs whose interval must hold the pooled estimate
    naive_share: float  # of the control's intervals that may, of the 95 % they promise


FULL = RepetitionParameters(runs=6, budget_s=10, holding=5, naive_share=0.80)
SHORT = RepetitionParameters(runs=4, budget_s=3, holding=3, naive_share=0.85)


def run(short: bool = False, seed: int = 17) -> Outcome:
    start = perf_counter()
    parameters = SHORT if short else FULL
    results: list[ComparisonResult] = []
    with scratch_workspace() as scratch:
        base, larger = (synthetic_models.stack(scratch.folder, layers) for layers in (100, 102))
        for number in range(parameters.runs):
            results.append(scratch.compare_for(base, larger, parameters.budget_s, seed + number))
        pairs = [scratch.pairs(result) for result in results]
    all_pairs = [pair for some in pairs for pair in some]
    pooled = estimate(all_pairs)
    intervals = [(log(result.ratio.low), log(result.ratio.high)) for result in results]
    holding = sum(low <= pooled.value <= high for low, high in intervals)
    naive = [low <= pooled.value <= high for low, high in map(_by_samples, all_pairs)]
    naive_share = sum(naive) / len(naive)
    verdicts = [result.verdict for result in results]
    passed = (
        holding >= parameters.holding
        and not {"slower", "faster"} <= set(verdicts)
        and naive_share <= parameters.naive_share
    )
    return Outcome(
        id="T17",
        name="reproducibility",
        passed=passed,
        observed={
            "intervals_holding_pooled": holding,
            "runs": parameters.runs,
            "verdicts": verdicts,
            "pooled_percent": percent(pooled.value),
            "intervals_percent": [[percent(low), percent(high)] for low, high in intervals],
        },
        threshold={
            "intervals_holding_pooled": parameters.holding,
            "verdicts": "not both slower and faster",
            "sample_intervals_holding_pooled": parameters.naive_share,
        },
        control={"sample_intervals_holding_pooled": round(naive_share, 3)},
        seed=seed,
        seconds=perf_counter() - start,
    )


def _by_samples(pair: Pair) -> tuple[float, float]:
    """The log-ratio's interval as one session of each would have it."""
    a, b = (
        seconds_per_call(side.samples.wall_ns, side.samples.calls_per_sample)
        for side in (pair.a, pair.b)
    )
    return quantile_ratio(a, b, FLOOR, LEVEL)
