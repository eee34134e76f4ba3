"""T18: does a later run of the same cell land where an earlier one said it would?

Machines are made up, so their true level is known: their speed drifts by 2.5 % with a memory of
15 s, and sessions differ by 1 % besides. Each has six runs of 14 sessions, and the function that
ships gives each run its interval from those before it. The test fails in both directions: too
narrow to hold the true level, or wider than what the runs really differ by needs. A second set of
machines does not drift: there the interval must shrink as runs agree. A third has two speeds that
last for a minute: an interval cannot know of a speed that no run has met, so the outcome says how
many hold, and once both were met they must. Control: the interval over the sessions of one run,
which is what most tools print.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from math import exp, log, sqrt

import numpy as np

from modeldyno.core.figures import percent
from modeldyno.core.results import Estimate, Repeat
from modeldyno.measure.repeats import repeat_of
from modeldyno.measure.statistics import FloatArray, log_t
from modeldyno.selftest.outcome import Outcome

RUNS, SESSIONS = 6, 14
SESSION_S, PAUSE_S = 0.7, 10.0
DRIFT_SD, DRIFT_S, SESSION_SD = 0.025, 15.0, 0.01
LEVEL = 0.95
COVERS, MOST_APART, SIXES_THAT_AGREE = (0.93, 0.995), 1, 0.99
WIDEST = 1.5  # times what the spread of the runs needs
CONTROL_COVERS, CONTROL_SIXES = 0.45, 0.05
CALM_COVERS, CALM_SHRINKS = 0.95, 2.0

TWO_SPEEDS, SPEED_S = 1.8, 60.0  # as seen on virtual CPUs

Level = Callable[[np.random.Generator, FloatArray], FloatArray]  # logarithms, by moment
Interval = tuple[float, float]
Expectation = Callable[[Estimate, Sequence[Estimate]], Repeat | None]


def run(machines: int = 400, seed: int = 18, expect: Expectation = repeat_of) -> Outcome:
    rng = np.random.default_rng(seed)
    drifting = [_simulate_runs(rng, _simulate_drift) for _ in range(machines)]
    calm = [_simulate_runs(rng, _still) for _ in range(machines)]
    moving = [_simulate_runs(rng, _two_speeds) for _ in range(machines)]
    repeats = [_repeat_intervals(runs, expect) for runs in drifting]
    calm_repeats = [_repeat_intervals(runs, expect) for runs in calm]
    moving_repeats = [_repeat_intervals(runs, expect) for runs in moving]
    within = [[(figure.low, figure.high) for figure in runs] for runs in drifting]
    spread = float(np.mean([np.std(np.log([f.value for f in runs]), ddof=1) for runs in drifting]))
    observed = {
        "coverage": _covered_share(repeats),
        "sixes_that_agree": _share_of_sixes_that_agree(repeats),
        "half_width_first": _mean_half_width(repeats, 0),
        "half_width_last": _mean_half_width(repeats, RUNS - 1),
        "width_over_spread": _mean_half_width(repeats, RUNS - 1) / (1.96 * spread),
        "calm_coverage": _covered_share(calm_repeats),
        "calm_shrinks": _mean_half_width(calm_repeats, 0)
        / _mean_half_width(calm_repeats, RUNS - 1),
        "two_speeds_coverage": _covered_share(moving_repeats),
        "two_speeds_coverage_once_met": _coverage_once_met(moving, moving_repeats),
        "machines": machines,
    }
    control = {
        "coverage": _covered_share(within),
        "sixes_that_agree": _share_of_sixes_that_agree(within),
    }
    passed = (
        COVERS[0] <= observed["coverage"] <= COVERS[1]
        and observed["sixes_that_agree"] >= SIXES_THAT_AGREE
        and observed["width_over_spread"] <= WIDEST
        and observed["calm_coverage"] >= CALM_COVERS
        and observed["calm_shrinks"] >= CALM_SHRINKS
        and observed["two_speeds_coverage_once_met"] >= COVERS[0]
        and control["coverage"] <= CONTROL_COVERS
        and control["sixes_that_agree"] <= CONTROL_SIXES
    )
    threshold = {
        "coverage": COVERS,
        "sixes_that_agree": SIXES_THAT_AGREE,
        "width_over_spread": WIDEST,
        "calm_coverage": CALM_COVERS,
        "calm_shrinks": CALM_SHRINKS,
        "two_speeds_coverage_once_met": COVERS[0],
        "control_coverage": CONTROL_COVERS,
        "control_sixes_that_agree": CONTROL_SIXES,
    }
    by_run = [_covered_share([[runs[n]] for runs in moving_repeats]) for n in range(RUNS)]
    note = (
        f"on machines with two speeds, {percent(by_run[0])} of the first runs hold the true level "
        f"and {percent(by_run[-1])} of the sixth: an interval knows only speeds that some run met"
    )
    return Outcome(passed, observed, threshold, control, seed, notes=(note,))


def _simulate_runs(rng: np.random.Generator, level: Level) -> list[Estimate]:
    """Six runs on one machine; the true level is 1."""
    moments = [run * (SESSIONS * SESSION_S + PAUSE_S) + n * SESSION_S
               for run in range(RUNS) for n in range(SESSIONS)]  # fmt: skip
    logs = level(rng, np.array(moments)) + rng.normal(0, SESSION_SD, len(moments))
    sessions = np.exp(logs).reshape(RUNS, SESSIONS)
    return [log_t(row.tolist(), LEVEL, "sessions") for row in sessions]


def _simulate_drift(rng: np.random.Generator, moments_s: FloatArray) -> FloatArray:
    """Ornstein-Uhlenbeck: it forgets where it was in about ``DRIFT_S``."""
    drift = np.empty(len(moments_s))
    drift[0] = rng.normal(0, DRIFT_SD)
    for n, gap_s in enumerate(np.diff(moments_s), start=1):
        kept = exp(-gap_s / DRIFT_S)
        drift[n] = kept * drift[n - 1] + rng.normal(0, DRIFT_SD * sqrt(1 - kept**2))
    return drift


def _still(rng: np.random.Generator, moments_s: FloatArray) -> FloatArray:
    return np.zeros(len(moments_s))


def _two_speeds(rng: np.random.Generator, moments_s: FloatArray) -> FloatArray:
    """Either speed is as likely as the other, and lasts for ``SPEED_S`` on average."""
    stays = (1 + np.exp(-2 * np.diff(moments_s, prepend=moments_s[0]) / SPEED_S)) / 2
    turns = np.where(rng.random(len(moments_s)) < stays, 1.0, -1.0)
    logs: FloatArray = rng.choice([-1, 1]) * np.cumprod(turns) * log(TWO_SPEEDS) / 2
    return logs


def _repeat_intervals(runs: list[Estimate], expect: Expectation) -> list[Interval]:
    intervals = []
    for number, figure in enumerate(runs):
        repeat = expect(figure, runs[:number][::-1])
        assert repeat is not None
        intervals.append((repeat.low, repeat.high))
    return intervals


def _covered_share(machines: list[list[Interval]]) -> float:
    return float(np.mean([low <= 1 <= high for runs in machines for low, high in runs]))


def _coverage_once_met(machines: list[list[Estimate]], repeats: list[list[Interval]]) -> float:
    """Of runs after which both speeds had been met."""
    met = []
    for figures, intervals in zip(machines, repeats, strict=True):
        values = [figure.value for figure in figures]
        ends = [(min(values[: n + 1]), max(values[: n + 1])) for n in range(RUNS)]
        met += [[i] for i, (low, high) in zip(intervals, ends, strict=True) if low < 1 < high]
    return _covered_share(met)


def _share_of_sixes_that_agree(machines: list[list[Interval]]) -> float:
    """Of all sixes, those in which at most one of the 15 pairs does not overlap."""
    return float(np.mean([_count_pairs_apart(runs) <= MOST_APART for runs in machines]))


def _count_pairs_apart(runs: list[Interval]) -> int:
    return sum(a[1] < b[0] or b[1] < a[0] for a, b in combinations(runs, 2))


def _mean_half_width(machines: list[list[Interval]], number: int) -> float:
    widths = [(runs[number][1] - runs[number][0]) / 2 for runs in machines]
    return float(np.mean(widths))
