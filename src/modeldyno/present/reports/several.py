"""Many results in one file: a table of all cells, or Markdown one after the other."""

from __future__ import annotations

from typing import Any

from modeldyno.core.documents.benchmarks import benchmarks_csv
from modeldyno.core.documents.reports import Report
from modeldyno.core.roofline import PeaksOf, no_peaks
from modeldyno.present.markdown import markdown_of, plain


def cells_csv(report: Report) -> str:
    """One line for each cell of its benchmarks: all else has no cells."""
    benchmarks: list[Any] = [result for result in report.results if result.has_cells]
    return benchmarks_csv(benchmarks, with_runs=True)


def report_markdown(report: Report, peaks_of: PeaksOf = no_peaks) -> str:
    sections = [markdown_of(result, peaks_of) for result in report.results]
    parts = [f"## {plain(report.title)}\n", *sections]
    if report.missing:
        lines = [f"- {plain(line)}" for line in report.missing]
        parts.append("\n".join(["### Without a result", "", *lines, ""]))
    return "\n".join(parts)
