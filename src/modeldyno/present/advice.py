"""What to do about a number that is less than perfect, knowing what was already tried."""

from __future__ import annotations

from collections.abc import Iterator

from modeldyno.core import figures
from modeldyno.core.results import (
    DECISIVE,
    FEWEST_SESSIONS,
    BenchmarkResult,
    CellResult,
    Measurement,
)
from modeldyno.core.specs import BenchmarkSpec

Advice = tuple[str, str]

SLOW_FIRST_CALL = 50  # times a typical one
QUIET_CONTENTION = 1.05
QUIET_WIDTH = 0.01  # of the interval that decides, as in the noise verdict


def advise(result: BenchmarkResult) -> Iterator[Advice]:
    for cell in result.cells:
        if cell.measurement is None:
            continue
        for text, help_text in _about(cell, cell.measurement, result.spec, _longer(result)):
            yield f"{cell.name}: {text}", help_text


def _longer(result: BenchmarkResult) -> str:
    """One budget for the whole run: what helps the cell that needs most helps all."""
    measurements = [cell.measurement for cell in result.cells if cell.measurement]
    few = any(measurement.sessions < FEWEST_SESSIONS for measurement in measurements)
    return f"--budget {(10 if few else 4) * result.spec.budget.seconds:g}"


def _about(
    cell: CellResult, measured: Measurement, spec: BenchmarkSpec, longer: str
) -> Iterator[Advice]:
    if measured.noise != "quiet":
        yield f"{measured.noise}. {' '.join(measured.reasons)}", _calmer(measured, spec, longer)
    if measured.sessions < FEWEST_SESSIONS:
        yield (
            f"no interval: {figures.counted(measured.sessions, 'session')}, and it takes "
            f"{FEWEST_SESSIONS} to know how far they differ",
            "measure without --iterations" if spec.iterations else f"use {longer}",
        )
    if measured.overhead_share > 0.01:
        yield (
            f"the stopwatch is {measured.overhead_share:.1%} of the result",
            "measure without --per-call"
            if spec.per_call or spec.iterations
            else "use a larger batch",
        )
    times = measured.first_inference_s / measured.latency.typical.value
    if times > SLOW_FIRST_CALL:
        yield f"the first call took {times:.0f} × a typical one", "warm your service up at start"
    for surprise in cell.surprises:
        yield surprise.text, surprise.fix


def _calmer(measured: Measurement, spec: BenchmarkSpec, longer: str) -> str:
    if measured.trend or not measured.steady:
        return (
            f"{measured.warmup_calls} warm-up calls were made; give it more with --thorough"
            if spec.warmup_calls is None
            else f"you asked for {spec.warmup_calls} warm-up calls; leave --warmup out"
        )
    wide = measured.latency.decisive.relative > QUIET_WIDTH
    if wide and measured.stop_reason == "budget" and spec.budget.name != "thorough":
        taken = figures.counted(measured.sessions, "session")
        were = "was" if measured.sessions == 1 else "were"
        return f"{taken} {were} taken; measure longer with {longer}"
    if measured.noise == "unusable":
        return f"measure longer with {longer}, or use `modeldyno compare`, which cancels drift"
    if (measured.contention or 1.0) < QUIET_CONTENTION:
        return f"measure longer with {longer}; `modeldyno compare` tells small differences"
    return f"close other programs, or rely on the {DECISIVE} and on `modeldyno compare`"
