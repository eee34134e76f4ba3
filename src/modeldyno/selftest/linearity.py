"""T7: does twice the work take twice the time?

The scripted engine does 1, 2, 4 and 8 times a fixed amount of arithmetic, interleaved by the
product's own comparison. Control: 2.2 times the work must not pass for twice.
"""

from __future__ import annotations

from modeldyno import python_api
from modeldyno.selftest.outcome import Outcome
from modeldyno.selftest.scratch_workspace import ScratchWorkspace, scratch_workspace

ROUNDS = 2000  # some 50 to 100 µs
FACTORS, SHORT_FACTORS = (2, 4, 8), (2, 8)
# The short form runs beside other tests: a change of the CPU's speed moves it by some percent.
BOUNDS, SHORT_BOUNDS = (0.97, 1.04), (0.92, 1.06)
CONTROL_FACTOR, CONTROL_REALLY, SHORT_CONTROL_REALLY = 2, 2.2, 2.6
BUDGET_S = 4.0


def run(short: bool = False, seed: int = 7) -> Outcome:
    bounds = SHORT_BOUNDS if short else BOUNDS
    really = SHORT_CONTROL_REALLY if short else CONTROL_REALLY
    with scratch_workspace() as scratch:
        factors = SHORT_FACTORS if short else FACTORS
        ratios = {factor: _measure_ratio(scratch, factor, seed) / factor for factor in factors}
        control = _measure_ratio(scratch, really, seed) / CONTROL_FACTOR
    linear = [bounds[0] <= ratio <= bounds[1] for ratio in (*ratios.values(), control)]
    passed = all(linear[:-1]) and not linear[-1]
    return Outcome(
        passed=passed,
        observed={"ratio_over_factor": {str(f): round(r, 4) for f, r in ratios.items()}},
        threshold={"ratio_over_factor": bounds, "more_work_than_said": f"outside {bounds}"},
        control={"more_work_than_said": round(control, 4)},
        seed=seed,
    )


def _measure_ratio(scratch: ScratchWorkspace, factor: float, seed: int) -> float:
    base, more = (scratch.write_script(f"work{n}", work=round(ROUNDS * n)) for n in (1, factor))
    result = python_api.compare(base, more, budget=BUDGET_S, seed=seed, workspace=scratch.workspace)
    return result.ratio.value
