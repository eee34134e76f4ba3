"""T4: do intervals cover the truth as often as they say?

Traces are made up, so the truth is known: sessions differ by 0.6 %, the machine wobbles by 3 %,
neighbouring calls are alike (AR(1) 0.3) and slow calls come in bursts with a Pareto tail. They go
through the functions that ship. Control: Welch's t over iterations of A-then-B, the usual way.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, sqrt

import numpy as np
from numpy.typing import NDArray

from modeldyno.core.results import Estimate
from modeldyno.measure.statistics import (
    FLOOR,
    TYPICAL,
    FloatArray,
    log_ratio,
    log_ratio_by_rounds,
    mean_t,
)
from modeldyno.selftest.controls import welch_interval
from modeldyno.selftest.outcome import Outcome

SESSIONS, CALLS = 12, 120
ROUND = 10  # samples of one side in a round of ABBA
EFFECTS = (0.0, 0.02)  # log-ratios in turn: no difference, and one that matters
SESSION_SD, WOBBLE_SD, CALL_SD, NEIGHBOUR = 0.006, 0.03, 0.01, 0.3
WOBBLE_KEPT = 0.9  # from one session to the next
BURST_STARTS, BURST_ENDS = 0.005, 0.1  # so one call in twenty is slow, ten in a row
BURST_SIZE, PARETO = 0.5, 2.5
LEVEL = 0.95
COVERS, WIDEST, CONTROL_COVERS = (0.93, 0.99), 1.5, 0.50


@dataclass(frozen=True)
class SimulatedTrace:
    """Seconds per call, sessions × calls, of both sides and of B measured after A."""

    a: FloatArray
    b: FloatArray
    b_later: FloatArray
    effect: float


def run(traces: int = 1000, seed: int = 4) -> Outcome:
    rng = np.random.default_rng(seed)
    made = [make_trace(rng, EFFECTS[i % len(EFFECTS)]) for i in range(traces)]
    floors = [_estimate_paired(trace, FLOOR) for trace in made]
    medians = [_estimate_paired(trace, TYPICAL) for trace in made]
    observed = {
        "coverage_floor": _covered_share(floors, made),
        "coverage_typical": _covered_share(medians, made),
        "width_over_oracle": _width_over_oracle(floors, made),
        "half_width": float(np.mean([estimate.half_width for _, estimate in floors])),
        "traces": traces,
    }
    control = {"coverage_welch_on_iterations": float(np.mean([_welch_covers(t) for t in made]))}
    passed = (
        all(
            COVERS[0] <= observed[key] <= COVERS[1]
            for key in ("coverage_floor", "coverage_typical")
        )
        and observed["width_over_oracle"] <= WIDEST
        and control["coverage_welch_on_iterations"] <= CONTROL_COVERS
    )
    threshold = {
        "coverage": COVERS,
        "width_over_oracle": WIDEST,
        "coverage_welch_on_iterations": CONTROL_COVERS,
    }
    return Outcome(passed, observed, threshold, control, seed)


# ---------------------------------------------------------------- the statistics, as shipped


def _estimate_paired(trace: SimulatedTrace, quantile: float) -> tuple[list[float], Estimate]:
    sessions = zip(trace.a, trace.b, strict=True)
    if quantile == FLOOR:  # the comparing figure goes round by round
        ratios = [log_ratio_by_rounds(a, b, FLOOR, ROUND) for a, b in sessions]
    else:
        ratios = [log_ratio(a, b, quantile) for a, b in sessions]
    return ratios, mean_t(ratios, LEVEL, "pairs")


def _covered_share(
    results: list[tuple[list[float], Estimate]], traces: list[SimulatedTrace]
) -> float:
    covers = [e.low <= t.effect <= e.high for (_, e), t in zip(results, traces, strict=True)]
    return float(np.mean(covers))


def _width_over_oracle(
    results: list[tuple[list[float], Estimate]], traces: list[SimulatedTrace]
) -> float:
    """Against one who knows how much pairs vary and need not estimate it."""
    errors = [r - t.effect for (rs, _), t in zip(results, traces, strict=True) for r in rs]
    oracle = 1.96 * float(np.std(errors)) / sqrt(SESSIONS)
    return float(np.mean([estimate.half_width for _, estimate in results])) / oracle


def _welch_covers(trace: SimulatedTrace) -> bool:
    a, b = trace.a.ravel(), trace.b_later.ravel()
    low, high = welch_interval(_mean_deviation_and_count(a), _mean_deviation_and_count(b), LEVEL)
    change = exp(trace.effect) - 1
    return bool(low <= change * a.mean() <= high)


def _mean_deviation_and_count(samples: FloatArray) -> tuple[float, float, int]:
    return float(samples.mean()), float(samples.var(ddof=1)), samples.size


# ---------------------------------------------------------------- traces


def make_trace(rng: np.random.Generator, effect: float) -> SimulatedTrace:
    # Interleaved sides share the machine's state; B measured after A meets another one.
    wobble = _simulate_wobble(rng, 2 * SESSIONS)
    now, later = wobble[:SESSIONS], wobble[SESSIONS:]
    a, b, b_later = (_simulate_side(rng, level) for level in (now, now + effect, later + effect))
    return SimulatedTrace(a, b, b_later, effect)


def _simulate_wobble(rng: np.random.Generator, sessions: int) -> FloatArray:
    """The machine's slow drift, one column for each session."""
    shocks = rng.normal(0, WOBBLE_SD * sqrt(1 - WOBBLE_KEPT**2), sessions)
    shocks[0] = rng.normal(0, WOBBLE_SD)
    return _smooth(shocks[:, None], WOBBLE_KEPT)


def _simulate_side(rng: np.random.Generator, level: FloatArray) -> FloatArray:
    shape = (CALLS, SESSIONS)
    shocks = rng.normal(0, CALL_SD * sqrt(1 - NEIGHBOUR**2), shape)
    logs = level + rng.normal(0, SESSION_SD, (SESSIONS, 1)) + _smooth(shocks, NEIGHBOUR).T
    slow = 1 + BURST_SIZE * rng.pareto(PARETO, (SESSIONS, CALLS))
    samples: FloatArray = np.exp(logs) * np.where(_simulate_bursts(rng, shape).T, slow, 1.0)
    return samples


def _smooth(shocks: FloatArray, kept: float) -> FloatArray:
    """AR(1) down the first axis."""
    values = shocks.copy()
    for i in range(1, len(values)):
        values[i] += kept * values[i - 1]
    return values


def _simulate_bursts(rng: np.random.Generator, shape: tuple[int, int]) -> NDArray[np.bool_]:
    """Whether each call falls into a burst: a two-state chain down the first axis."""
    draws = rng.random(shape)
    inside = np.zeros(shape, dtype=np.bool_)
    for i in range(1, len(inside)):
        inside[i] = np.where(inside[i - 1], draws[i] > BURST_ENDS, draws[i] < BURST_STARTS)
    return inside
