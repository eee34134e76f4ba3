"""Many results in one file: a table of all cells, or Markdown one after the other."""

from __future__ import annotations

from dataclasses import dataclass

from modeldyno.core import exports, public
from modeldyno.core.markdown import markdown_of, plain
from modeldyno.core.results import BenchmarkResult, MeasuringResult
from modeldyno.core.roofline import PeaksOf, no_peaks

CELL_COLUMNS = ("run_id", *public.CSV_COLUMNS)


@dataclass(frozen=True)
class Report:
    title: str
    results: tuple[MeasuringResult, ...]
    missing: tuple[str, ...] = ()  # what has no result, and why


def cells_csv(report: Report) -> str:
    """One line for each cell of its benchmarks: all else has no cells."""
    rows = [
        {"run_id": result.run_id, **public.csv_row(cell)}
        for result in report.results
        if isinstance(result, BenchmarkResult)
        for cell in result.cells
    ]
    return exports.csv_text(CELL_COLUMNS, rows)


def report_markdown(report: Report, peaks_of: PeaksOf = no_peaks) -> str:
    told = [markdown_of(result, peaks_of) for result in report.results]
    parts = [f"## {plain(report.title)}\n", *told]
    if report.missing:
        lines = [f"- {plain(line)}" for line in report.missing]
        parts.append("\n".join(["### Without a result", "", *lines, ""]))
    return "\n".join(parts)
