"""Results as rows of text: the terminal draws them, notebooks show them as HTML."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from modeldyno.core import exports, figures
from modeldyno.core.cell_axes import NAMED_COUNTS, NESTED, SIZES, CellAxis, named_sizes
from modeldyno.core.documents.benchmarks import benchmarks_csv
from modeldyno.core.documents.cells import CellDocument
from modeldyno.core.documents.figures import FigureColumn, figure_columns
from modeldyno.core.documents.models import ModelDocument, TensorDocument
from modeldyno.core.documents.reports import Report
from modeldyno.core.judgements import BenchmarkJudgement
from modeldyno.core.models import Dim, ModelFacts, TensorSpec
from modeldyno.core.names import name_of_file, shown_name
from modeldyno.core.rankings import Ranked, Ranking
from modeldyno.core.requests.axes import sizes_of, values_of
from modeldyno.core.results import (
    DECISIVE,
    BenchmarkResult,
    CellResult,
    ComparisonResult,
    Estimate,
    Repeat,
    SideResult,
    Tail,
)
from modeldyno.core.sentences import PRAISE, comparison_sentence

Rows = list[tuple[str, ...]]

WITHIN_RUN = "this run"  # the column of how far the sessions of a run agree


def benchmark_rows(
    benchmark: BenchmarkResult, most: int | None = None
) -> tuple[tuple[str, ...], Rows]:
    """Column names and one row per cell; one unit for all latencies, of at most ``most`` digits."""
    scale, unit = benchmark_unit(benchmark)
    counted = [axis for axis in NESTED if axis.short != "batch" and axis.kind != "sizes"]
    axes = [axis for axis in counted if _is_axis_shown(axis, benchmark.cells)]
    sizes = differing_sizes(benchmark.cells)
    documents = [CellDocument.of(number, cell) for number, cell in enumerate(benchmark.cells)]
    known = figure_columns(CellDocument)
    rate, *placed = (known[name].head for name in PLACED)
    further = further_figures(documents, known)
    has_repeats = any(map(_repeat_of, benchmark.cells))
    head = (
        *(axis.short for axis in axes), "batch", *sizes, f"{unit}/batch", DECISIVE,
        *[WITHIN_RUN] * has_repeats, f"{unit}/item", rate, "p99", *placed,
        "n", "quality", *(known[name].head for name in further),
    )  # fmt: skip
    rows: Rows = [
        (
            *(_axis_text(axis, cell) for axis in axes),
            str(cell.batch_size),
            *(str(sizes_of(cell.spec).get(name, figures.NOTHING)) for name in sizes),
            *_cell_row(cell, document, scale, most, has_repeats),
            *(known[name].text(getattr(document, name), scale) for name in further),
        )
        for cell, document in zip(benchmark.cells, documents, strict=True)
    ]
    if any(document.guessed for document in documents):
        head = (*head, "shape")
        rows = [(*row, cell.shape) for row, cell in zip(rows, documents, strict=True)]
    if any(axis.name in CHANGES_OUTPUTS for axis in axes):
        head = (*head, "off first")
        rows = [(*row, _parity_text(cell)) for row, cell in zip(rows, benchmark.cells, strict=True)]
    if not (benchmark.all_standings() or any(cell.mismatches for cell in benchmark.cells)):
        return head, rows
    return (*head, "best"), [(*row, _row_mark(benchmark, n)) for n, row in enumerate(rows)]


def benchmark_unit(benchmark: BenchmarkResult) -> tuple[float, str]:
    """In which batches and items have readable times."""
    measured = [
        (c.measurement.latency.decisive.value, c.items) for c in benchmark.cells if c.measurement
    ]
    return figures.unit_for(part for batch, items in measured for part in (batch, batch / items))


# Figures with a place among what is not only a field of a cell.
PLACED = tuple(name for name, column in figure_columns(CellDocument).items() if column.has_place)


def further_figures(
    cells: Sequence[CellDocument], columns: Mapping[str, FigureColumn]
) -> list[str]:
    """Names of the other figures for tables; what no cell has gets no column."""
    return [
        name
        for name, column in columns.items()
        if column.in_tables
        and name not in PLACED
        and any(getattr(cell, name) is not None for cell in cells)
    ]


def _axis_text(axis: CellAxis, cell: CellResult) -> str:
    """As it really ran, where that is known of words."""
    of = cell.facts if axis.kind == "word" and cell.facts else cell.spec
    value = getattr(of, axis.name)
    return figures.NOTHING if value is None else str(value)


def _is_axis_shown(axis: CellAxis, cells: Sequence[CellResult]) -> bool:
    """Where all cells are alike, or as usual, there is no column of it; cores always have one."""
    texts = {_axis_text(axis, cell) for cell in cells}
    is_usual = axis.kind == "word" or (not axis.is_always_named and texts == {str(axis.usual)})
    return len(texts) > 1 or not is_usual


def engine_text(cell: CellResult) -> str:
    """``onnxruntime 1.22.0 on cpu, fp32``, as it ran if that is known."""
    facts = cell.facts
    if facts is None:
        return f"{cell.spec.engine or 'no engine'} on {cell.spec.device}"
    precision = f", {facts.precision}" if facts.precision else ""
    return f"{facts.engine_title} on {facts.device}{precision}"


def differing_sizes(cells: Sequence[CellResult]) -> list[str]:
    """Names of dimensions that do not have one size in all cells: each has a column."""
    specs = [cell.spec for cell in cells]
    sizes = {name: own for axis in SIZES for name, own in values_of(axis, specs).items()}
    return [
        name
        for name, own in named_sizes(sizes).items()
        if len(own) > 1 or any(name not in sizes_of(spec) for spec in specs)
    ]


CHANGES_OUTPUTS = ("engine", "device", "precision")
WORDS = (
    "engine",
    "device",
    "precision",
    "quality",
    "shape",
    "best",
)  # columns of text, not of numbers


def _parity_text(cell: CellResult) -> str:
    """The largest error as a share of the output's range."""
    return figures.NOTHING if cell.parity is None else f"{cell.parity.max_rel_error:.1e}"


def _row_mark(benchmark: BenchmarkResult, number: int) -> str:
    """``◀ lowest latency``, also for those who share it: a tie is shown as a tie."""
    if benchmark.cells[number].mismatches:
        return "not ranked: " + "; ".join(benchmark.cells[number].mismatches)
    marks = []
    for objective, standing in benchmark.all_standings():
        if number in standing.tied:
            tie = "" if standing.has_winner else "tied: "
            marks.append(tie + PRAISE[objective])
    return "◀ " + ", ".join(marks) if marks else ""


def _repeat_of(cell: CellResult) -> Repeat | None:
    return cell.measurement.latency.typical.repeat if cell.measurement else None


def interval_legend(benchmark: BenchmarkResult) -> str:
    """What the ± of its table and of the lines below it is an interval of; empty without any ±."""
    measured = [cell.measurement for cell in benchmark.cells if cell.measurement]
    if not any(each.latency.typical.is_over_units or each.side_by_side for each in measured):
        return ""
    repeats = [repeat for repeat in map(_repeat_of, benchmark.cells) if repeat]
    if not repeats:
        return "± is half the 95 % interval over the sessions of this run."
    together = any(each.side_by_side for each in measured)
    own = " So is the ± of instances in all." if together else ""
    fewest, most = (pick(repeat.runs for repeat in repeats) for pick in (min, max))
    if most == 0:
        basis = "a guess, because there is no earlier run of the same cell"
    elif fewest == most:
        basis = f"judging by {figures.counted(most, 'earlier run')} of the same cell"
    else:
        basis = f"judging by {fewest} to {most} earlier runs of the same cell"
    return (
        f"± is where a repeat on this machine is expected (95 %), {basis}. "
        f"{WITHIN_RUN.capitalize()}: half the 95 % interval over its own sessions.{own}"
    )


SLOW_SHARE = 0.10  # of the rate: what slow calls cost before a table explains itself


def rate_legend(benchmark: BenchmarkResult) -> str:
    """Why the items per second are fewer than the typical latency suggests; empty if they are not.

    Several instances have a rate of their own, with a sentence of its own.
    """
    lost = [
        (1 - measured.throughput_per_s / undisturbed, measured.throughput_per_s, undisturbed)
        for cell in benchmark.cells
        if (measured := cell.measurement) and measured.side_by_side is None
        for undisturbed in [cell.items / measured.latency.decisive.value]
    ]
    share, rate, undisturbed = max(lost, default=(0.0, 0.0, 0.0))
    if share < SLOW_SHARE:
        return ""
    return (
        f"items/s is over all calls, slow ones included: {figures.plain(rate)}, where calls "
        f"without disturbance would give {figures.plain(undisturbed)}."
    )


def _cell_row(
    cell: CellResult,
    document: CellDocument,
    scale: float,
    most: int | None,
    has_repeats: bool,
) -> tuple[str, ...]:
    measured = cell.measurement
    if measured is None:
        return (*[figures.NOTHING] * (8 + has_repeats), _quality_text(cell))
    latency = measured.latency
    within = (
        f"±{figures.percent(latency.typical.relative)}" if _repeat_of(cell) else figures.NOTHING
    )
    per_item = latency.typical.value / cell.items
    half = (latency.typical.repeat or latency.typical).half_width / cell.items
    known = figure_columns(CellDocument)
    rate, *placed = (known[name].text(getattr(document, name), scale) for name in PLACED)
    return (
        figures.estimate(latency.typical, scale, most),
        figures.estimate(latency.decisive, scale, most),
        *[within] * has_repeats,
        figures.with_interval(per_item, half, scale, most).partition(" ")[0],
        rate,
        _tail_text(latency.p99, scale),
        *placed,
        f"{measured.sessions}×{measured.samples // measured.sessions}",
        _quality_text(cell),
    )


def _tail_text(tail: Tail, scale: float) -> str:
    return figures.NOTHING if tail.value is None else figures.plain(tail.value / scale)


_FAILURES = {"OUT_OF_MEMORY": "out of memory", "CANCELLED": "stopped"}


def _quality_text(cell: CellResult) -> str:
    noise = cell.measurement.noise if cell.measurement else ""
    if cell.status == "done":
        return noise
    failure = _FAILURES.get(cell.error.code, cell.status) if cell.error else cell.status
    return f"{failure}, {noise}" if noise else failure


def benchmark_html(benchmark: BenchmarkResult) -> str:
    head, rows = benchmark_rows(benchmark)
    name = name_of_file(benchmark.model.path)
    return exports.html_table(head, rows, f"{name}. {interval_legend(benchmark)}".rstrip(". "))


def cells_csv(report: Report) -> str:
    """One line per cell of the report's benchmarks: other results have no cells."""
    benchmarks: list[Any] = [result for result in report.results if result.has_cells]
    return benchmarks_csv(benchmarks, with_runs=True)


# ---------------------------------------------------------------- comparisons


def comparison_rows(comparison: ComparisonResult) -> tuple[tuple[str, ...], Rows]:
    counts = _counts_to_show((comparison.a, comparison.b))
    scale, unit = figures.unit_for([comparison.a.floor_s, comparison.b.floor_s])
    head = (
        *("", "model", "engine", "precision", *(axis.short for axis in counts)),
        *(f"{DECISIVE} {unit}", f"typical {unit}"),
    )
    rows: Rows = [
        (
            name,
            shown_name(side.model.path),
            side.facts.engine_title,
            side.facts.precision or figures.NOTHING,
            *(str(_axis_count(side, axis)) for axis in counts),
            figures.plain(side.floor_s / scale, 4),
            figures.plain(side.typical_s / scale, 4),
        )
        for name, side in (("A", comparison.a), ("B", comparison.b))
    ]
    return head, rows


def judgement_rows(
    judgement: BenchmarkJudgement, a: BenchmarkResult, b: BenchmarkResult
) -> tuple[tuple[str, ...], Rows]:
    """A row for each pair of cells; times are floors, which are what the ratio is of."""
    pairs = [(cell, a.cells[cell.a.number], b.cells[cell.b.number]) for cell in judgement.cells]
    floors = [floor for _, *sides in pairs for floor in map(_floor, sides) if floor]
    scale, unit = figures.unit_for([floor.value for floor in floors])

    def time(cell: CellResult) -> str:
        floor = _floor(cell)
        return figures.estimate(floor, scale) if floor else figures.NOTHING

    head = ("cell", f"A {DECISIVE} {unit}", f"B {DECISIVE} {unit}", "B/A", "verdict")
    rows: Rows = []
    for cell, *sides in pairs:
        names = dict.fromkeys((cell.a.name, cell.b.name))
        ratio = figures.NOTHING
        if cell.ratio:
            ratio = f"{cell.ratio.value:.3f} ({cell.ratio.low:.3f} to {cell.ratio.high:.3f})"
        rows.append((" and ".join(names), *map(time, sides), ratio, cell.verdict))
    return head, rows


def _floor(cell: CellResult) -> Estimate | None:
    return cell.measurement.latency.decisive if cell.measurement else None


# What is not a number.
RANKING_WORDS = ("place", "model", "engine", "precision", "outputs", "error")


def ranking_rows(ranking: Ranking) -> tuple[tuple[str, ...], Rows]:
    """In the order of their places; those without one come last."""
    levels = map(ranking.floor_s, ranking.sides)
    scale, unit = figures.unit_for(level for level in levels if level is not None)
    counts = _counts_to_show([ranked.side for ranked in ranking.sides if ranked.side])
    head: tuple[str, ...] = (
        *("place", "model", "engine", "precision", *(axis.short for axis in counts)),
        *(f"{DECISIVE} {unit}", "×", "outputs"),
    )
    last = len(ranking.sides) + 1
    order = sorted(
        ranking.sides,
        key=lambda ranked: (ranked.place or last, ranked.ratio.value if ranked.ratio else 0),
    )
    rows = [_ranked_row(ranked, ranking, scale, counts) for ranked in order]
    if any(ranked.failure for ranked in order):
        head = (*head, "error")
        rows = [
            (*row, ranked.failure.code if ranked.failure else "")
            for row, ranked in zip(rows, order, strict=True)
        ]
    return head, rows


def _counts_to_show(sides: Sequence[SideResult]) -> list[CellAxis]:
    """What is not always named has no column where all sides are as usual."""
    return [
        axis
        for axis in NAMED_COUNTS
        if axis.is_always_named or any(_axis_count(side, axis) != axis.usual for side in sides)
    ]


def _axis_count(side: SideResult, axis: CellAxis) -> int:
    count: int = getattr(side.ran, axis.name)
    return count


def _ranked_row(
    ranked: Ranked, ranking: Ranking, scale: float, counts: Sequence[CellAxis]
) -> tuple[str, ...]:
    place = str(ranked.place) if ranked.place else figures.NOTHING
    floor_s = ranking.floor_s(ranked)
    if ranked.side is None or floor_s is None:
        return (place, shown_name(ranked.label), *(figures.NOTHING,) * (5 + len(counts)))
    side = ranked.side
    is_reference = ranked.label == ranking.reference
    return (
        place,
        shown_name(side.model.path),
        f"{side.facts.engine} {side.facts.engine_version}",
        side.facts.precision or figures.NOTHING,
        *(str(_axis_count(side, axis)) for axis in counts),
        figures.plain(floor_s / scale, 4),
        _ratio_text(ranked, is_reference),
        "reference" if is_reference and not ranked.alone else _outputs_text(ranked),
    )


def _ratio_text(ranked: Ranked, is_reference: bool) -> str:
    ratio = ranked.ratio
    if ratio is None:
        return figures.NOTHING
    if is_reference:
        return "1"
    if ratio.is_over_units and ratio.half_width > ratio.value / 4:  # too lopsided for a ±
        value, low, high = map(figures.plain, (ratio.value, ratio.low, ratio.high))
        return f"{value} ({low} to {high})"
    return figures.estimate(ratio, most=4)


def _outputs_text(ranked: Ranked) -> str:
    """How far its outputs are from those of the reference, of their largest value."""
    return figures.NOTHING if ranked.parity is None else f"{ranked.parity.max_rel_error:.1g}"


def comparison_html(comparison: ComparisonResult) -> str:
    head, rows = comparison_rows(comparison)
    return exports.html_table(head, rows, comparison_sentence(comparison))


def comparison_csv(comparison: ComparisonResult, path: str | Path | None) -> str:
    row: dict[str, Any] = {
        "a": comparison.a.label,
        "b": comparison.b.label,
        "verdict": comparison.verdict,
        "ratio": comparison.ratio.value,
        "ratio_low": comparison.ratio.low,
        "ratio_high": comparison.ratio.high,
        "pairs": comparison.pairs,
        "statistic": comparison.statistic,
    }
    return exports.write_if_given_path(exports.csv_text(row, [row]), path)


# ---------------------------------------------------------------- models


def model_rows(facts: ModelFacts | ModelDocument) -> tuple[tuple[str, ...], Rows]:
    head = ("", "name", "dtype", "shape", "values")
    rows: Rows = [
        (
            "input",
            tensor.name,
            tensor.dtype,
            _tensor_shape_text(tensor),
            tensor.indices.because if tensor.indices else "",
        )
        for tensor in facts.inputs
    ]
    rows += [("output", t.name, t.dtype, _tensor_shape_text(t), "") for t in facts.outputs]
    return head, rows


def _tensor_shape_text(tensor: TensorSpec | TensorDocument) -> str:
    """A map or an opaque value has none; that of a sequence is that of what it holds."""
    is_tensor = tensor.shape is not None or not tensor.dtype.startswith(("map(", "opaque("))
    return shape_text(tensor.shape) if is_tensor else figures.NOTHING


def shape_text(shape: tuple[Dim, ...] | None) -> str:
    if shape is None:
        return "any rank"
    return "[" + ", ".join("?" if dim is None else str(dim) for dim in shape) + "]"


def model_csv(facts: ModelFacts, path: str | Path | None) -> str:
    columns = ("kind", "name", "dtype", "shape", "values")
    _, rows = model_rows(facts)
    lines = [dict(zip(columns, row, strict=True)) for row in rows]
    return exports.write_if_given_path(exports.csv_text(columns, lines), path)


def model_html(facts: ModelFacts) -> str:
    head, rows = model_rows(facts)
    return exports.html_table(head, rows, name_of_file(facts.path))
