"""T3: what a user gets from ten seconds of ``modeldyno compare``.

The command itself, in processes of their own: 105 layers against 100 must come out as slower, a
model against itself never as slower or faster, and the clock on the wall must agree with the
budget. The comparisons with a difference are the control of those without, and the reverse.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

from modeldyno.selftest.outcome import Outcome
from modeldyno.selftest.scratch_workspace import scratch_workspace

TIMEOUT_S = 120


@dataclass(frozen=True)
class TenSecondsParameters:
    runs: int
    budget_s: float
    layers: int
    slower: int  # runs that must find the difference
    half_width: float
    wall: float | None  # times the budget; None: reported, not judged


FULL = TenSecondsParameters(runs=3, budget_s=10, layers=105, slower=2, half_width=0.02, wall=1.3)
# Half the budget finds twice the difference; starting up weighs more in it.
SHORT = TenSecondsParameters(runs=1, budget_s=5, layers=110, slower=1, half_width=0.04, wall=None)


def run(short: bool = False, seed: int = 3) -> Outcome:
    parameters = SHORT if short else FULL
    different: list[dict[str, Any]] = []
    same: list[dict[str, Any]] = []
    walls: list[float] = []
    with scratch_workspace() as scratch:
        base, larger = scratch.make_stack_models(100, parameters.layers)
        for number in range(parameters.runs):
            for other, documents in ((larger, different), (base, same)):
                began = perf_counter()
                command = [base, other, "--budget", parameters.budget_s, "--seed", seed + number]
                documents.append(_run_compare_command(command, scratch.workspace))
                walls.append(perf_counter() - began)
    verdicts = [document["verdict"] for document in different]
    same_verdicts = [document["verdict"] for document in same]
    widest = max(_half_width_of(document) for document in same)
    passed = (
        verdicts.count("slower") >= parameters.slower
        and not {"slower", "faster"} & set(same_verdicts)
        and widest <= parameters.half_width
        and (parameters.wall is None or max(walls) <= parameters.wall * parameters.budget_s)
    )
    return Outcome(
        passed=passed,
        observed={
            "verdicts_of_different": verdicts,
            "verdicts_of_same": same_verdicts,
            "ratios_of_different": [_ratio_ends(document) for document in different],
            "ratios_of_same": [_ratio_ends(document) for document in same],
            "widest_half_width_of_same": round(widest, 5),
            "pairs": [document["pairs"] for document in (*different, *same)],
            "longest_wall_s": round(max(walls), 2),
        },
        threshold={
            "slower_of_different": parameters.slower,
            "slower_or_faster_of_same": 0,
            "half_width_of_same": parameters.half_width,
            "wall_s": parameters.wall and parameters.wall * parameters.budget_s,
            "layers": f"100:{parameters.layers}",
        },
        control={"slower_of_different": verdicts.count("slower")},
        seed=seed,
    )


def _run_compare_command(arguments: list[object], workspace: Path) -> dict[str, Any]:
    command = [sys.executable, "-m", "modeldyno", "compare", *map(str, arguments)]
    done = subprocess.run(
        [*command, "--json", "--workspace", str(workspace)],
        stdout=subprocess.PIPE,
        check=True,
        timeout=TIMEOUT_S,
    )
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def _half_width_of(document: dict[str, Any]) -> float:
    ratio = document["ratio"]
    return float(ratio["high"] - ratio["low"]) / 2


def _ratio_ends(document: dict[str, Any]) -> list[float]:
    return [round(document["ratio"][end], 4) for end in ("value", "low", "high")]
