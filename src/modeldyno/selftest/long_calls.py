"""T14: can calls that are longer than a time slice still be compared under load?

A convolutional network of more than 5 ms against itself, beside four busy processes: the
comparison must turn to CPU time and stay sharp. Control: the interval of the wall time's median,
from the same pairs, is at least three times as wide.
"""

from __future__ import annotations

from dataclasses import dataclass

from modeldyno.measure.verdicts import CONTENDED
from modeldyno.selftest import synthetic_models
from modeldyno.selftest.neighbours import busy_processes
from modeldyno.selftest.outcome import Outcome
from modeldyno.selftest.scratch_workspace import scratch_workspace

NEIGHBOURS = 4
LONG_CALL_S = 0.005


@dataclass(frozen=True)
class LongCallParameters:
    budget_s: float
    half_width: float
    wall_over_cpu: float  # half-width over half-width


FULL = LongCallParameters(budget_s=50, half_width=0.02, wall_over_cpu=3.0)
SHORT = LongCallParameters(budget_s=25, half_width=0.05, wall_over_cpu=1.5)


def run(short: bool = False, seed: int = 14) -> Outcome:
    parameters = SHORT if short else FULL
    with scratch_workspace() as scratch:
        model = synthetic_models.write_convnet(scratch.folder)
        with busy_processes(NEIGHBOURS):
            result = scratch.compare_for(model, model, parameters.budget_s, seed)
    half_width = result.ratio.half_width
    wall_over_cpu = result.typical_ratio.half_width / half_width
    is_contended = result.contention is not None and result.contention >= CONTENDED
    passed = (
        result.a.floor_s >= LONG_CALL_S
        and result.statistic == "cpu p25"
        and half_width <= parameters.half_width
        and result.verdict not in ("slower", "faster")
        and (wall_over_cpu >= parameters.wall_over_cpu or not is_contended)
    )
    return Outcome(
        passed=passed,
        observed={
            "verdict": result.verdict,
            "ratio": round(result.ratio.value, 5),
            "half_width": round(half_width, 5),
            "statistic": result.statistic,
            "pairs": result.pairs,
            "units": result.ratio.units,
            "contention": result.contention,
            "floor_ms": round(1e3 * result.a.floor_s, 3),
        },
        threshold={
            "verdict": "neither slower nor faster",
            "half_width": parameters.half_width,
            "statistic": "cpu p25",
            "wall_over_cpu_half_width": parameters.wall_over_cpu,
        },
        control={"wall_over_cpu_half_width": round(wall_over_cpu, 2)},
        seed=seed,
        notes=() if is_contended else ("the control is skipped: the machine was not contended",),
    )
