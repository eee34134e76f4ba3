"""A benchmark's section: its cells, and how they scale."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from modeldyno.core import figures
from modeldyno.core.cell_axes import NESTED_NUMBERS
from modeldyno.core.names import shown_name
from modeldyno.core.requests.axes import sizes_of
from modeldyno.core.requests.commands import bench_command
from modeldyno.core.results import (
    DECISIVE,
    FEWEST_SESSIONS,
    BenchmarkResult,
    CellResult,
    Measurement,
)
from modeldyno.core.sentences import benchmark_sentences, remarks
from modeldyno.present.advice import advise
from modeldyno.present.charts.scaling import Point, Series, Words, scaling_chart
from modeldyno.present.markup import Markup
from modeldyno.present.reports.blocks import Section, table
from modeldyno.present.tables import (
    WORDS,
    benchmark_rows,
    benchmark_unit,
    differing_sizes,
    engine_text,
    interval_legend,
)

MOST_DIGITS = 4
_READ = "Bars are 95 % intervals over the sessions of this run; hatched points are not quiet."


def benchmark_section(benchmark: BenchmarkResult) -> Section:
    name = shown_name(benchmark.model.path)
    head, rows = benchmark_rows(benchmark, MOST_DIGITS)
    return Section(
        result=benchmark,
        title=name,
        verdict=tuple(benchmark_sentences(benchmark)),
        word="",
        engines=tuple(engine_text(cell) for cell in benchmark.cells),
        method=_method_text(benchmark),
        table=table(head, rows, WORDS, lambda row: benchmark.cells[row].is_noisy),
        charts=tuple(_draw_charts(benchmark)),
        limits=(*remarks(benchmark), *_list_doubts(benchmark)),
        command=bench_command(benchmark.spec, name),
    )


# ---------------------------------------------------------------- words


def _method_text(benchmark: BenchmarkResult) -> str:
    measured = [cell.measurement for cell in benchmark.cells if cell.measurement]
    if not measured:
        return "No cell could be measured. The reasons are below."
    subject = "Each cell" if len(benchmark.cells) > 1 else "The model"
    turns = ", the cells in turn" if len(benchmark.cells) > 1 else ""
    intervals = f"{interval_legend(benchmark)}{_note_without_interval(measured)}".strip()
    return (
        f"{subject} was measured in {_span_text(measured, 'processes', 'fresh process')} with "
        f"{_span_text(measured, 'sessions', 'session')}, each warmed up before it was timed"
        f"{turns}. "
        f"{intervals} The {DECISIVE} is the tenth percentile, p99 is there where the samples can "
        f"tell it, and {figures.NOTHING} is not measured."
    )


def _span_text(measured: Sequence[Measurement], field: str, what: str) -> str:
    counts = sorted({getattr(measurement, field) for measurement in measured})
    most = figures.counted(counts[-1], what)
    return f"{counts[0]} to {most}" if len(counts) > 1 else most


def _note_without_interval(measured: Sequence[Measurement]) -> str:
    if all(measurement.latency.typical.is_over_units for measurement in measured):
        return ""
    return f" Fewer than {FEWEST_SESSIONS} sessions have no interval."


def _list_doubts(benchmark: BenchmarkResult) -> list[str]:
    doubts = [f"{str(advice).rstrip('.')}. To do: {advice.help}" for advice in advise(benchmark)]
    for cell in benchmark.cells:
        tail = cell.measurement.latency.p99 if cell.measurement else None
        if cell.measurement and tail and tail.value is None and tail.samples_needed is not None:
            needed = figures.counted(tail.samples_needed, "sample")
            there = figures.spaced(cell.measurement.samples, 0)
            doubts.append(f"{cell.spec.name}: p99 takes {needed}, there are {there}")
    return doubts


# ---------------------------------------------------------------- charts


@dataclass(frozen=True)
class _Sweep:
    """Cells that differ in one number and nothing else."""

    name: str
    numbers: tuple[int, ...]
    cells: tuple[CellResult, ...]


def _draw_charts(benchmark: BenchmarkResult) -> list[Markup]:
    charts = []
    scale, unit = benchmark_unit(benchmark)
    by_cores = _find_sweeps(benchmark, lambda cell: cell.spec.cores, "cores")
    if by_cores:
        words = Words("Core scaling.", _cores_summary(by_cores[0]), "cores", f"{unit} per item")
        charts.append(scaling_chart(words, _series_by_cores(by_cores, scale), has_ideal=True))
    by_batch = _find_sweeps(benchmark, lambda cell: cell.batch_size, "batch")
    if by_batch:
        item = Words("Batch scaling, per item.", _READ, "items in a batch", f"{unit} per item")
        curves = [
            Series(sweep.name, _make_points(sweep, per_item=True, scale=scale))
            for sweep in by_batch
        ]
        charts.append(scaling_chart(item, curves))
        whole = Words("Batch scaling, per batch.", _READ, "items in a batch", f"{unit} per batch")
        curves = [
            Series(sweep.name, _make_points(sweep, per_item=False, scale=scale))
            for sweep in by_batch
        ]
        charts.append(scaling_chart(whole, curves))
    for name in differing_sizes(benchmark.cells):
        by_size = _find_sweeps(
            benchmark, lambda cell, name=name: sizes_of(cell.spec).get(name), name
        )
        words = Words(f"Scaling in {name}.", _READ, name, f"{unit} per item")
        curves = [
            Series(sweep.name, _make_points(sweep, per_item=True, scale=scale)) for sweep in by_size
        ]
        charts += [scaling_chart(words, curves)] if curves else []
    return charts


def _find_sweeps(
    benchmark: BenchmarkResult, number: Callable[..., int | None], swept: str
) -> list[_Sweep]:
    """Those with two numbers or more."""
    groups: dict[str, dict[int, CellResult]] = {}
    for cell in benchmark.cells:
        x = number(cell)
        if cell.measurement is not None and x is not None:
            groups.setdefault(_key_without_axis(cell, swept), {}).setdefault(x, cell)
    return [
        _Sweep(name, tuple(sorted(cells)), tuple(cells[x] for x in sorted(cells)))
        for name, cells in groups.items()
        if len(cells) > 1
    ]


def _key_without_axis(cell: CellResult, swept: str) -> str:
    """``onnxruntime · cpu · fp32 · batch 8``: all that a cell is, but what is swept."""
    facts, spec = cell.facts, cell.spec
    precision = facts.precision if facts else spec.precision
    parts = [facts.engine if facts else spec.engine, facts.device if facts else spec.device]
    parts += [precision] if precision else []
    counts = replace(spec, batch_size=cell.batch_size)
    for axis in sorted(NESTED_NUMBERS, key=lambda axis: axis.is_always_named):
        value = getattr(counts, axis.name)
        if axis.kind == "sizes":
            value = {name: size for name, size in value.items() if name != swept}
        if axis.short != swept and (axis.is_always_named or value != axis.usual):
            parts.append(axis.words(value))
    return " · ".join(part for part in parts if part)


def _make_points(sweep: _Sweep, per_item: bool, scale: float = 1.0) -> tuple[Point, ...]:
    """Of whole batches, or of one item."""
    return tuple(
        _make_point(cell, x, scale * (cell.items if per_item else 1))
        for x, cell in zip(sweep.numbers, sweep.cells, strict=True)
    )


def _make_point(cell: CellResult, x: int, scale: float) -> Point:
    assert cell.measurement is not None
    typical = cell.measurement.latency.typical
    known = typical.is_over_units and math.isfinite(typical.low) and math.isfinite(typical.high)
    low, high = (typical.low, typical.high) if known else (typical.value, typical.value)
    return Point(x, typical.value / scale, low / scale, high / scale, cell.is_noisy)


def _series_by_cores(sweeps: Sequence[_Sweep], scale: float) -> list[Series]:
    """With their efficiency: at the points of a single curve, in the names of several."""
    curves = []
    for sweep in sweeps:
        points = _make_points(sweep, per_item=True, scale=scale)
        shares = [_efficiency_text(sweep, number) for number in range(len(points))]
        if len(sweeps) == 1:
            points = tuple(replace(p, label=share) for p, share in zip(points, shares, strict=True))
        last = f" ({shares[-1]} efficient with {sweep.numbers[-1]} cores)" if shares[-1] else ""
        curves.append(Series(sweep.name + last, points))
    return curves


def _efficiency_text(sweep: _Sweep, number: int) -> str:
    """The share of the cores' time that was put to use; empty where a number is unusable."""
    first, here = sweep.cells[0], sweep.cells[number]
    if number == 0 or any(cell.is_unusable for cell in (first, here)):
        return ""
    start, point = (_make_points(sweep, per_item=True)[place] for place in (0, number))
    return f"{start.value * start.x / (point.value * point.x):.0%}"


def _cores_summary(sweep: _Sweep) -> str:
    points = _make_points(sweep, per_item=True)
    few, many = points[0], points[-1]
    counts = f"{sweep.numbers[-1]} cores", figures.counted(sweep.numbers[0], "core")
    if any(sweep.cells[place].is_unusable for place in (0, -1)):
        sentence = "Too noisy to say what more cores do"
    elif many.low <= few.high and few.low <= many.high:
        sentence = f"{counts[0]} and {counts[1]} cannot be told apart"
    else:
        sentence = f"{counts[0]} take {many.value / few.value:.2f} times as long as {counts[1]}"
    return f"{sentence} ({sweep.name}). {_READ}"
