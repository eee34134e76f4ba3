"""T17: does the same comparison, repeated, say the same?

102 layers against 100, several times over. Nearly all intervals must hold what all pairs say
together, and no two verdicts may contradict each other. Control: intervals of the same runs that
count every sample as a unit mostly miss it.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log
from time import perf_counter

import numpy as np

from modeldyno.core.results import ComparisonResult
from modeldyno.core.sessions import Pair, Session
from modeldyno.measure.statistics import FLOOR, seconds_per_call
from modeldyno.measure.tails import order_statistics
from modeldyno.selftest import stacks
from modeldyno.selftest.outcome import Outcome
from modeldyno.selftest.room import LEVEL, estimate, percent, temporary_room


@dataclass(frozen=True)
class Form:
    runs: int
    budget_s: float
    holding: int  # runs whose interval must hold the pooled estimate
    naive_holding: int  # runs of the control that may


FULL = Form(runs=6, budget_s=10, holding=5, naive_holding=4)
SHORT = Form(runs=4, budget_s=3, holding=3, naive_holding=3)


def run(short: bool = False, seed: int = 17) -> Outcome:
    start = perf_counter()
    form = SHORT if short else FULL
    results: list[ComparisonResult] = []
    with temporary_room() as room:
        base, larger = (stacks.stack(room.folder, layers) for layers in (100, 102))
        for number in range(form.runs):
            results.append(room.compare_for(base, larger, form.budget_s, seed + number))
        pairs = [room.pairs(result) for result in results]
    pooled = estimate([pair for some in pairs for pair in some])
    intervals = [(log(result.ratio.low), log(result.ratio.high)) for result in results]
    holding = sum(low <= pooled.value <= high for low, high in intervals)
    naive = sum(low <= pooled.value <= high for low, high in map(_as_if_independent, pairs))
    verdicts = [result.verdict for result in results]
    passed = (
        holding >= form.holding
        and not {"slower", "faster"} <= set(verdicts)
        and naive <= form.naive_holding
    )
    return Outcome(
        id="T17",
        name="reproducibility",
        passed=passed,
        observed={
            "intervals_holding_pooled": holding,
            "runs": form.runs,
            "verdicts": verdicts,
            "pooled_percent": percent(pooled.value),
            "intervals_percent": [[percent(low), percent(high)] for low, high in intervals],
        },
        threshold={
            "intervals_holding_pooled": form.holding,
            "verdicts": "not both slower and faster",
            "sample_intervals_holding_pooled": form.naive_holding,
        },
        control={"sample_intervals_holding_pooled": naive},
        seed=seed,
        seconds=perf_counter() - start,
    )


def _as_if_independent(pairs: list[Pair]) -> tuple[float, float]:
    """The log-ratio's interval when all samples of a run are thrown together and counted."""
    (low_a, high_a), (low_b, high_b) = (
        _floor_interval([getattr(pair, side) for pair in pairs]) for side in ("a", "b")
    )
    return log(low_b / high_a), log(high_b / low_a)


def _floor_interval(sessions: list[Session]) -> tuple[float, float]:
    samples = np.concatenate(
        [
            seconds_per_call(session.samples.wall_ns, session.samples.calls_per_sample)
            for session in sessions
        ]
    )
    _, low, high = order_statistics(samples, FLOOR, LEVEL, effective=samples.size)
    return low, high
