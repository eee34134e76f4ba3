"""T18b: do six real runs of one model land where each said that a repeat would?

The command's own path, six times with pauses, on a model of 50 MB of weights: what moves a level
between runs is memory traffic more than anything. Nearly all pairs of runs must agree and nearly
all must hold what the others say together, without being wider than the runs' spread needs.
Control: intervals over the sessions of a run fail where the runs really differ; where they do not,
nothing can be judged of it, and the outcome says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import exp, fsum, log, sqrt
from statistics import stdev
from time import sleep
from typing import Any

from modeldyno.core.results import BenchmarkResult, Estimate, Latency, Repeat
from modeldyno.measure.verdicts import is_over_sessions, squared_error
from modeldyno.selftest import synthetic_models
from modeldyno.selftest.outcome import Outcome
from modeldyno.selftest.scratch_workspace import scratch_workspace

LEVELS = ("floor", "typical")
WIDEST, SLACK = 4.0, 0.02  # the last half-width: times the spread of the runs, and on top
DIFFERENT = 3.0  # times their own standard error: then some pairs must be apart within the runs


@dataclass(frozen=True)
class LiveParameters:
    runs: int
    budget_s: float
    pause_s: float
    apart: int  # pairs that may disagree
    missing: int  # runs that may miss what the others say together
    control_apart: int  # pairs that must disagree by their intervals within a run


FULL = LiveParameters(runs=6, budget_s=10, pause_s=10, apart=1, missing=1, control_apart=2)
SHORT = LiveParameters(runs=4, budget_s=3, pause_s=2, apart=1, missing=1, control_apart=1)


def run(short: bool = False, seed: int = 18) -> Outcome:
    parameters = SHORT if short else FULL
    results: list[BenchmarkResult] = []
    with scratch_workspace() as scratch:
        model = synthetic_models.write_memory_bound(scratch.folder)
        for number in range(parameters.runs):
            sleep(parameters.pause_s if results else 0.0)
            results.append(scratch.bench_for(model, parameters.budget_s, seed + number))
    latencies = [_latency(result) for result in results]
    levels = {name: judge([getattr(each, name) for each in latencies]) for name in LEVELS}
    notes = tuple(
        f"control of {name} not judged: the runs differ by less than {DIFFERENT:g} × their error"
        for name, level in levels.items()
        if not level["is_control_judged"]
    )
    return Outcome(
        passed=all(has_passed(level, parameters) for level in levels.values()),
        observed={name: _without_control(level) for name, level in levels.items()}
        | {
            "noise": [
                cell.measurement.noise for r in results for cell in r.cells if cell.measurement
            ]
        },
        threshold={
            "pairs_apart": parameters.apart,
            "missing_the_others": parameters.missing,
            "half_width_last": f"{WIDEST:g} × the spread of the runs + {SLACK:g}",
            "control_pairs_apart": f"{parameters.control_apart} or more, where the runs differ",
        },
        control={
            name: level["control_pairs_apart"] if level["is_control_judged"] else "not judged"
            for name, level in levels.items()
        },
        seed=seed,
        notes=notes,
    )


def _latency(result: BenchmarkResult) -> Latency:
    (cell,) = result.cells
    assert cell.measurement is not None, cell.error
    return cell.measurement.latency


def has_passed(level: dict[str, Any], parameters: LiveParameters = FULL) -> bool:
    is_control_right = (
        not level["is_control_judged"] or level["control_pairs_apart"] >= parameters.control_apart
    )
    return bool(
        level["pairs_apart"] <= parameters.apart
        and level["missing_the_others"] <= parameters.missing
        and level["half_width_last"] <= level["widest"]
        and is_control_right
    )


def judge(figures: Sequence[Estimate]) -> dict[str, Any]:
    """Of one level of all runs, in their order."""
    repeats = [figure.repeat for figure in figures]
    known = [repeat for repeat in repeats if repeat is not None]
    if len(known) < len(figures):
        raise RuntimeError("a run had too few sessions to expect anything of a repeat")
    logs = [log(figure.value) for figure in figures]
    spread = stdev(logs)
    errors = [squared_error(figure) for figure in figures if is_over_sessions(figure)]
    own_error = sqrt(fsum(errors) / len(errors))
    last = known[-1]
    return {
        "values_ms": [round(1e3 * figure.value, 5) for figure in figures],
        "pairs_apart": _pairs_apart(known),
        "missing_the_others": sum(
            not repeat.low <= _mean_of_others(logs, number) <= repeat.high
            for number, repeat in enumerate(known)
        ),
        "half_widths": [
            round(repeat.half_width / figure.value, 4)
            for repeat, figure in zip(known, figures, strict=True)
        ],
        "half_width_last": last.half_width / figures[-1].value,
        "widest": WIDEST * spread + SLACK,
        "spread": round(spread, 5),
        "control_pairs_apart": _pairs_apart(figures),
        "is_control_judged": spread >= DIFFERENT * own_error,
    }


def _pairs_apart(intervals: Iterable[Estimate | Repeat]) -> int:
    return sum(a.high < b.low or b.high < a.low for a, b in combinations(intervals, 2))


def _mean_of_others(logs: Sequence[float], number: int) -> float:
    others = [*logs[:number], *logs[number + 1 :]]
    return exp(fsum(others) / len(others))


def _without_control(level: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in level.items() if "control" not in name}
