"""T5: does the p99 interval cover p99, and is it withheld when samples are too few?

Slow calls come alone or in bursts of ten, with a Pareto tail whose p99 has a closed form. Control:
the same order statistics with every sample counted as independent.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from modeldyno.core.results import Tail
from modeldyno.measure.statistics import FloatArray
from modeldyno.measure.tails import order_statistics, quantile_interval
from modeldyno.selftest.outcome import Outcome

P99, LEVEL = 0.99, 0.95
SLOW_SHARE, SLOWEST_USUAL, PARETO = 0.035, 1.5, 1.5  # slow calls start at 1.5 × the usual one
SAMPLES, TOO_FEW, BURST = 4000, 200, 10
TRUTH = SLOWEST_USUAL * (SLOW_SHARE / (1 - P99)) ** (1 / PARETO)
COVERS, ANSWERS, CONTROL_COVERS = 0.91, 0.90, 0.75


def run(traces: int = 300, seed: int = 5) -> Outcome:
    rng = np.random.default_rng(seed)
    alone = [make_trace(rng, SAMPLES, burst=1) for _ in range(traces)]
    bursty = [make_trace(rng, SAMPLES, burst=BURST) for _ in range(traces)]
    short = [make_trace(rng, TOO_FEW, burst=1) for _ in range(traces)]
    observed: dict[str, float] = {"traces": traces}
    for name, made in (("independent", alone), ("bursts", bursty)):
        tails = [quantile_interval([trace], P99, LEVEL) for trace in made]
        answered = [tail for tail in tails if tail.value is not None]
        observed[f"answered_{name}"] = len(answered) / traces
        observed[f"coverage_{name}"] = float(np.mean([_covers(tail) for tail in answered]))
    silent = [quantile_interval([trace], P99, LEVEL).value is None for trace in short]
    observed["silent_at_200"] = float(np.mean(silent))
    control = {"coverage_as_if_independent": float(np.mean([_naive_covers(t) for t in bursty]))}
    passed = (
        min(observed["coverage_independent"], observed["coverage_bursts"]) >= COVERS
        and min(observed["answered_independent"], observed["answered_bursts"]) >= ANSWERS
        and observed["silent_at_200"] == 1.0
        and control["coverage_as_if_independent"] <= CONTROL_COVERS
    )
    threshold = {
        "coverage": COVERS,
        "answered": ANSWERS,
        "silent_at_200": 1.0,
        "coverage_as_if_independent": CONTROL_COVERS,
    }
    return Outcome(passed, observed, threshold, control, seed)


def make_trace(rng: np.random.Generator, samples: int, burst: int) -> FloatArray:
    """Calls of about 1, some slow ones in runs of ``burst`` on average."""
    usual = rng.lognormal(0, 0.02, samples)
    slow = SLOWEST_USUAL * (1 + rng.pareto(PARETO, samples))
    return np.where(_simulate_bursts(rng, samples, burst), slow, usual)


def _simulate_bursts(rng: np.random.Generator, samples: int, burst: int) -> NDArray[np.bool_]:
    """Geometric runs of slow calls between geometric gaps, SLOW_SHARE of the calls in all."""
    if burst == 1:
        return rng.random(samples) < SLOW_SHARE
    gap = burst * (1 - SLOW_SHARE) / SLOW_SHARE
    count = 50 + int(4 * samples / (gap + burst))
    lengths = np.empty(2 * count, dtype=np.int64)
    # Geometric lengths have no memory, so starting in state i at random is already stationary.
    first = int(rng.random() < SLOW_SHARE)
    lengths[first::2] = rng.geometric(1 / gap, count)
    lengths[1 - first :: 2] = rng.geometric(1 / burst, count)
    states = np.repeat((np.arange(2 * count) + first) % 2 == 1, lengths)
    return states[:samples]


def _covers(tail: Tail) -> bool:
    return tail.low is not None and tail.high is not None and tail.low <= TRUTH <= tail.high


def _naive_covers(trace: FloatArray) -> bool:
    _, low, high = order_statistics(trace, P99, LEVEL, effective=trace.size)
    return bool(low <= TRUTH <= high)
