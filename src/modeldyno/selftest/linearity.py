"""T7: does twice the work take twice the time?

The scripted engine does 1, 2, 4 and 8 times a fixed amount of arithmetic, interleaved by the
product's own comparison. Control: 2.2 times the work must not pass for twice.
"""

from __future__ import annotations

import json
from pathlib import Path
from time import perf_counter

from modeldyno import python_api
from modeldyno.selftest.outcome import Outcome
from modeldyno.selftest.room import Room, temporary_room

ROUNDS = 2000  # some 50 to 100 µs
FACTORS, SHORT_FACTORS = (2, 4, 8), (2, 8)
BOUNDS = (0.97, 1.04)
CONTROL_FACTOR, CONTROL_REALLY = 2, 2.2
BUDGET_S, SHORT_BUDGET_S = 4.0, 2.5


def run(short: bool = False, seed: int = 7) -> Outcome:
    start = perf_counter()
    budget_s = SHORT_BUDGET_S if short else BUDGET_S
    with temporary_room() as room:
        factors = SHORT_FACTORS if short else FACTORS
        ratios = {factor: _ratio(room, factor, budget_s, seed) / factor for factor in factors}
        control = _ratio(room, CONTROL_REALLY, budget_s, seed) / CONTROL_FACTOR
    passed = all(_is_linear(ratio) for ratio in ratios.values()) and not _is_linear(control)
    return Outcome(
        id="T7",
        name="linearity",
        passed=passed,
        observed={"ratio_over_factor": {str(f): round(r, 4) for f, r in ratios.items()}},
        threshold={"ratio_over_factor": BOUNDS, "more_work_than_said": f"outside {BOUNDS}"},
        control={"more_work_than_said": round(control, 4)},
        seed=seed,
        seconds=perf_counter() - start,
    )


def _is_linear(ratio: float) -> bool:
    return BOUNDS[0] <= ratio <= BOUNDS[1]


def _ratio(room: Room, factor: float, budget_s: float, seed: int) -> float:
    base, more = _script(room.folder, 1), _script(room.folder, factor)
    result = python_api.compare(base, more, budget=budget_s, seed=seed, workspace=room.workspace)
    return result.ratio.value


def _script(folder: Path, factor: float) -> Path:
    path = folder / f"work{factor}.json"
    path.write_text(json.dumps({"modeldyno": "scripted/1", "work": round(ROUNDS * factor)}))
    return path
