"""Whether a machine is as fast as it usually is, by a fixed piece of work that each session times.

CPUs have speeds that last for minutes: boost, heat, a quota, a neighbour on the same core. A run
that meets a slow one is consistent in itself, so only earlier runs can show it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from statistics import median

from modeldyno.core.figures import percent, plain
from modeldyno.core.results import MachineSpeed
from modeldyno.measure.repeats import MOST_RUNS

FEWEST_RUNS = 3  # to know what is usual


def against_usual(speed: MachineSpeed, earlier_s: Sequence[float]) -> MachineSpeed:
    """``earlier_s``: what the same work took in earlier runs on this machine, the latest first."""
    latest_s = earlier_s[:MOST_RUNS]
    if len(latest_s) < FEWEST_RUNS:
        return speed
    return replace(speed, share=median(latest_s) / speed.work_s, runs=len(latest_s))


def slow_reason(speed: MachineSpeed | None) -> str:
    """Empty unless the machine is slow."""
    if speed is None or speed.share is None or not speed.is_slow:
        return ""
    return (
        f"This machine runs at {percent(speed.share)} of its usual speed: a fixed piece of work "
        f"took {plain(1 / speed.share, 2)} × as long as in its last {speed.runs} runs."
    )
