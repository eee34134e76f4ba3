"""What to do about a number that is less than perfect, knowing what was already tried."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from modeldyno.core import figures
from modeldyno.core.results import (
    DECISIVE,
    FEWEST_SESSIONS,
    BenchmarkResult,
    CellResult,
    Measurement,
)
from modeldyno.core.specs import BenchmarkSpec

SLOW_FIRST_CALL = 50  # times a typical one
QUIET_CONTENTION = 1.05
QUIET_WIDTH = 0.01  # of the interval that decides, as in the noise verdict
MOST_NAMES = 3  # of cells, in one sentence


@dataclass(frozen=True)
class Advice:
    """Something about one or several cells, and what to do about it."""

    cells: str
    text: str  # of the cell where it weighs most
    help: str

    def __str__(self) -> str:
        return f"{self.cells}: {self.text}"


@dataclass(frozen=True)
class _Remark:
    topic: str  # what cells have in common, whatever their numbers are
    text: str
    help: str
    weight: float = 0.0


def advise(benchmark: BenchmarkResult, each_cell: bool = False) -> list[Advice]:
    """One for each topic, with the cells it is about; ``each_cell`` keeps them apart."""
    longer = _advise_longer_run(benchmark)
    topics: dict[tuple[object, ...], list[tuple[CellResult, _Remark]]] = {}
    measured = [cell for cell in benchmark.cells if cell.measurement is not None]
    for cell in measured:
        assert cell.measurement is not None
        for remark in _remarks_about_cell(cell, cell.measurement, benchmark.spec, longer):
            key = (remark.topic, cell.name if each_cell else "")
            topics.setdefault(key, []).append((cell, remark))
    return [_join_remarks(remarks, len(measured)) for remarks in topics.values()]


def _join_remarks(remarks: Sequence[tuple[CellResult, _Remark]], cells: int) -> Advice:
    worst, remark = max(remarks, key=lambda pair: pair[1].weight)
    if len(remarks) == 1:
        return Advice(worst.name, remark.text, remark.help)
    names = [cell.name for cell, _ in remarks]
    if len(names) == cells:
        about = f"all {cells} cells"
    else:
        others = len(names) - MOST_NAMES
        about = "; ".join(names[:MOST_NAMES]) + (f" and {others} more" if others > 0 else "")
    is_same = len({each.text for _, each in remarks}) == 1
    return Advice(
        about, remark.text if is_same else f"{remark.text} (worst: {worst.name})", remark.help
    )


def _advise_longer_run(benchmark: BenchmarkResult) -> str:
    """One budget for the whole run: what helps the cell that needs most helps all."""
    measurements = [cell.measurement for cell in benchmark.cells if cell.measurement]
    few = [measurement for measurement in measurements if measurement.sessions < FEWEST_SESSIONS]
    if few and all(measurement.interval_budget_s for measurement in few):
        seconds = max(measurement.interval_budget_s or 0.0 for measurement in few)
    else:
        seconds = (10 if few else 4) * benchmark.spec.budget.seconds
    return f"--budget {seconds:g}"


def _remarks_about_cell(
    cell: CellResult, measured: Measurement, spec: BenchmarkSpec, longer: str
) -> Iterator[_Remark]:
    width = measured.latency.decisive.relative
    if measured.noise != "quiet":
        text = f"{measured.noise}. {' '.join(measured.reasons)}"
        yield _Remark(measured.noise, text, _advise_calmer_machine(measured, spec, longer), width)
    if measured.sessions < FEWEST_SESSIONS:
        taken = figures.counted(measured.sessions, "session")
        needed = measured.interval_budget_s
        about = "" if needed is None else f": about {needed:g} s"
        yield _Remark(
            "no interval",
            f"no interval: {taken}, and an interval needs {FEWEST_SESSIONS} sessions{about}",
            "measure without --iterations" if spec.iterations else f"use {longer}",
            -measured.sessions,
        )
    if measured.overhead_share > 0.01:
        yield _Remark(
            "stopwatch",
            f"the stopwatch is {measured.overhead_share:.1%} of the result",
            "measure without --per-call"
            if spec.per_call or spec.iterations
            else "use a larger batch",
            measured.overhead_share,
        )
    times = measured.first_inference_s / measured.latency.typical.value
    if times > SLOW_FIRST_CALL:
        text = f"the first call took {times:.0f} × a typical one"
        yield _Remark("first call", text, "warm your service up at start", times)
    for surprise in cell.surprises:
        yield _Remark(surprise.text, surprise.text, surprise.fix)


def _advise_calmer_machine(measured: Measurement, spec: BenchmarkSpec, longer: str) -> str:
    if measured.machine_speed is not None and measured.machine_speed.is_slow:
        return (
            "measure again once it is as fast as usual; `modeldyno doctor` shows governor, turbo, "
            "quota and load, and `modeldyno compare` holds in any case"
        )
    if measured.trend or not measured.steady:
        return (
            f"{measured.warmup_calls} warm-up calls were made; give it more time with {longer}"
            if spec.warmup_calls is None
            else f"--warmup {spec.warmup_calls} is too few; leave it out"
        )
    wide = measured.latency.decisive.relative > QUIET_WIDTH
    if wide and measured.stop_reason == "budget" and spec.budget.name != "thorough":
        taken = figures.counted(measured.sessions, "session")
        were = "was" if measured.sessions == 1 else "were"
        return f"{taken} {were} taken; measure longer with {longer}"
    if measured.noise == "unusable":
        return f"measure longer with {longer}, or use `modeldyno compare`, which cancels drift"
    if (measured.contention or 1.0) < QUIET_CONTENTION:
        return f"measure longer with {longer}; `modeldyno compare` detects small differences"
    return f"close other programs, or rely on the {DECISIVE} and on `modeldyno compare`"
