"""T10: do busy neighbours move a comparison?

A model against itself and 105 layers against 100, with four busy processes beside and without.
The ratio must stay, and the loaded run must say that it was contended. Control: the mean latency
of one and the same model, taken once without and once with the neighbours, does move.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log

from modeldyno.core.results import ComparisonResult
from modeldyno.selftest.neighbours import busy_processes
from modeldyno.selftest.outcome import Outcome
from modeldyno.selftest.scratch_workspace import ScratchWorkspace, log_to_percent, scratch_workspace

NEIGHBOURS = 4


@dataclass(frozen=True)
class LoadParameters:
    budget_s: float
    same: float  # how far from 1 the interval of a model against itself may reach
    moved: float  # how far the neighbours may move the difference


FULL = LoadParameters(budget_s=18, same=0.02, moved=0.015)
SHORT = LoadParameters(budget_s=4, same=0.04, moved=0.04)


def run(short: bool = False, seed: int = 10) -> Outcome:
    parameters = SHORT if short else FULL
    with scratch_workspace() as scratch:
        base, larger = scratch.make_stack_models(100, 105)
        quiet = scratch.compare_for(base, larger, parameters.budget_s, seed)
        same_quiet = None if short else scratch.compare_for(base, base, parameters.budget_s, seed)
        with busy_processes(NEIGHBOURS):
            loaded = scratch.compare_for(base, larger, parameters.budget_s, seed)
            same_loaded = scratch.compare_for(base, base, parameters.budget_s, seed)
        mean_moved = log(_mean_s(scratch, loaded) / _mean_s(scratch, quiet))
    sames = [result for result in (same_quiet, same_loaded) if result is not None]
    moved = log(loaded.ratio.value / quiet.ratio.value)
    noises = [loaded.noise, same_loaded.noise]
    passed = (
        all(_is_same(result, parameters.same) for result in sames)
        and abs(moved) <= parameters.moved
        and noises == ["contended", "contended"]
        and mean_moved > parameters.moved
    )
    return Outcome(
        passed=passed,
        observed={
            "same_percent": [_interval_in_percent(result) for result in sames],
            "105_quiet_percent": _interval_in_percent(quiet),
            "105_loaded_percent": _interval_in_percent(loaded),
            "moved_points": log_to_percent(moved),
            "noise_quiet": quiet.noise,
            "noise_loaded": noises,
            "contention_quiet": quiet.contention,
            "contention_loaded": loaded.contention,
        },
        threshold={
            "same_percent": f"contains 0 or within ±{log_to_percent(parameters.same)}",
            "moved_points": log_to_percent(parameters.moved),
            "noise_loaded": "contended",
            "mean_moved_percent": f"above {log_to_percent(parameters.moved)}",
        },
        control={"mean_moved_percent": log_to_percent(mean_moved)},
        seed=seed,
    )


def _is_same(result: ComparisonResult, within: float) -> bool:
    low, high = result.ratio.low - 1, result.ratio.high - 1
    return low <= 0 <= high or (-within <= low and high <= within)


def _interval_in_percent(result: ComparisonResult) -> list[float]:
    return [log_to_percent(log(value)) for value in (result.ratio.low, result.ratio.high)]


def _mean_s(scratch: ScratchWorkspace, result: ComparisonResult) -> float:
    """The mean of A's calls: what a stored number would be compared with."""
    sessions = [pair.a.samples for pair in scratch.read_pairs(result)]
    calls = sum(len(samples.wall_ns) * samples.calls_per_sample for samples in sessions)
    return sum(sum(samples.wall_ns) for samples in sessions) / calls / 1e9
