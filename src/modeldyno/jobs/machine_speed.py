"""How fast this machine was in a run, against what is usual for it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from statistics import median

from modeldyno.core.results import BenchmarkResult, CellResult
from modeldyno.jobs.earlier_runs import earlier_results
from modeldyno.measure.machine_speed import against_usual, slow_reason
from modeldyno.measure.repeats import MOST_RUNS
from modeldyno.store.runs import RunFolder


def with_machine_speed(result: BenchmarkResult, folder: RunFolder) -> BenchmarkResult:
    """``folder`` lies among earlier runs, of whatever models. A number of a slow machine is not
    quiet, and says why."""
    if not _work_s(result):
        return result
    earlier_s = tuple(islice(_earlier_s(result, folder), MOST_RUNS))
    return replace(result, cells=tuple(_judged(cell, earlier_s) for cell in result.cells))


def _earlier_s(result: BenchmarkResult, folder: RunFolder) -> Iterator[float]:
    """What the work took, in each run of this machine. Its governor may have been another one: that
    is what we want to notice."""
    host = result.host
    for earlier in earlier_results(result, folder.path.parent):
        same = (earlier.host.cpu_model, earlier.host.python) == (host.cpu_model, host.python)
        if same and (took_s := _work_s(earlier)):
            yield median(took_s)


def _work_s(result: BenchmarkResult) -> list[float]:
    measured = [cell.measurement for cell in result.cells if cell.measurement]
    return [each.machine_speed.work_s for each in measured if each.machine_speed]


def _judged(cell: CellResult, earlier_s: Sequence[float]) -> CellResult:
    measured = cell.measurement
    if measured is None or measured.machine_speed is None:
        return cell
    speed = against_usual(measured.machine_speed, earlier_s)
    reason = slow_reason(speed)
    return replace(
        cell,
        measurement=replace(
            measured,
            machine_speed=speed,
            noise="noisy" if reason and measured.noise == "quiet" else measured.noise,
            reasons=(reason, *measured.reasons) if reason else measured.reasons,
        ),
    )
