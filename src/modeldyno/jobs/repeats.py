"""What earlier runs of the same cells on this machine gave, and so what a later one may give."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from modeldyno.core.codec import encode
from modeldyno.core.figures import percent
from modeldyno.core.requests.axes import axis_fields
from modeldyno.core.results import BenchmarkResult, CellResult, Measurement
from modeldyno.jobs.earlier_runs import earlier_results
from modeldyno.measure.repeats import MOST_RUNS, repeat_of
from modeldyno.store.runs import RunFolder

QUIET_WIDTH = 0.02  # a number may be quoted if a repeat is expected to be this close


def with_repeats(result: BenchmarkResult, folder: RunFolder) -> BenchmarkResult:
    """The result with the intervals to expect in a repeat; ``folder`` lies among earlier runs."""
    earlier: dict[str, list[Measurement]] = {
        _cell_key(result, cell): [] for cell in result.cells if cell.measurement and cell.facts
    }
    for other in earlier_results(result, folder.path.parent, result.model.sha256):
        for cell in other.cells:
            same = earlier.get(_cell_key(other, cell)) if cell.measurement and cell.facts else None
            if same is not None and cell.measurement is not None:
                same.append(cell.measurement)
        if all(len(runs) >= MOST_RUNS for runs in earlier.values()):
            break
    cells = tuple(
        _with_repeat(cell, earlier[_cell_key(result, cell)])
        if cell.measurement and cell.facts
        else cell
        for cell in result.cells
    )
    return replace(result, cells=cells)


def _cell_key(result: BenchmarkResult, cell: CellResult) -> str:
    """Equal for two measurements of the same thing: anything else may have another level."""
    facts, spec = cell.facts, result.spec
    assert facts is not None
    what: list[Any] = [
        result.host.fingerprint,
        replace(spec.model, path="", sha256=None, files=(), data_file=None),
        facts.engine,
        facts.engine_version,
        axis_fields(cell.ran),
        cell.contract,
        cell.spec.options,
        facts.spinning,
        cell.input_shapes,
        spec.per_call,
    ]
    return repr(encode(what))


def _with_repeat(cell: CellResult, earlier: Sequence[Measurement]) -> CellResult:
    measured = cell.measurement
    assert measured is not None
    latency = measured.latency
    floor = replace(
        latency.floor,
        repeat=repeat_of(latency.floor, [run.latency.floor for run in earlier]),
    )
    typical = replace(
        latency.typical,
        repeat=repeat_of(latency.typical, [run.latency.typical for run in earlier]),
    )
    throughput = measured.throughput
    if throughput is not None:
        rates = [run.throughput for run in earlier if run.throughput is not None]
        throughput = replace(throughput, repeat=repeat_of(throughput, rates))
    noise, reasons = measured.noise, measured.reasons
    width = floor.repeat.half_width / floor.value if floor.repeat else 0.0
    if noise == "quiet" and width > QUIET_WIDTH:
        noise = "noisy"
        reasons = (f"A repeat later may differ by ±{percent(width)}.", *reasons)
    return replace(
        cell,
        measurement=replace(
            measured,
            latency=replace(latency, floor=floor, typical=typical),
            throughput=throughput,
            noise=noise,
            reasons=reasons,
        ),
    )
