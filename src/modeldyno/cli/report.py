"""``modeldyno report``."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, assert_never

import typer

from modeldyno.cli import options, output
from modeldyno.core.errors import BadValue
from modeldyno.core.runs import ACTIVE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from modeldyno.cli.remote import Kept
    from modeldyno.core.results import RunResult as Result
    from modeldyno.core.roofline import PeaksOf
    from modeldyno.core.runs import StoredRun

_LOOKED_AT = 20  # runs: more are not under way at once


class Format(StrEnum):
    md = "md"
    csv = "csv"
    json = "json"
    html = "html"


def report(
    runs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[RUN]...", help="Numbers (12), ids, or parts of them.", show_default="latest"
        ),
    ] = None,
    format: Annotated[
        Format,
        typer.Option("--format", help="For pull requests, spreadsheets, programs or readers."),
    ] = Format.md,
    output_file: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write it to a file.")
    ] = None,
    server: options.Server = None,
    workspace: options.Workspace = None,
) -> None:
    """Results for a pull request (md), a spreadsheet (csv), a program (json) or people (html).

    Examples:

        modeldyno report > result.md

        modeldyno report 3fa9c1 5b2e07 --format csv --output both.csv

        modeldyno report 3fa9c1 5b2e07 --format html --output both.html
    """
    from modeldyno.cli.profile import peaks_in
    from modeldyno.cli.remote import kept_runs

    history = kept_runs(server, workspace)
    kept = [history.find(word) for word in runs] if runs else [_latest(history)]
    text = _report_text([_require_result(run) for run in kept], format, peaks_in(workspace))
    if output_file is None:
        output.export(text.removesuffix("\n"))
        return
    with output.translated_write_errors(output_file):
        output_file.write_text(text, encoding="utf-8")  # as an HTML file says of itself


def _latest(history: Kept) -> StoredRun:
    """The newest that is not under way."""
    newest = history.find()
    if newest.state not in ACTIVE:
        return newest
    recent, _ = history.recent(_LOOKED_AT)
    return next((run for run in recent if run.state not in ACTIVE), newest)


def _require_result(kept: StoredRun) -> Result:
    if kept.result is None:
        raise BadValue(
            f"Run {kept.run_id} has no result to report",
            why=f"it is {kept.state}, with {kept.kept}",
            fix=f"`modeldyno show {kept.run_id}` shows how far it got",
        )
    return kept.result


def _report_text(results: Sequence[Result], format: Format, peaks_of: PeaksOf) -> str:
    from modeldyno.core.documents.benchmarks import BenchmarkDocument, benchmarks_csv
    from modeldyno.core.documents.described import json_text
    from modeldyno.core.exports import csv_with_artifacts
    from modeldyno.core.redaction import without_model_places

    if format == Format.md:
        from modeldyno.present.markdown import markdown_of

        return "\n".join(markdown_of(result, peaks_of) for result in results)
    results = [
        without_model_places(result, {}) for result in results
    ]  # for others: no folders of ours
    if format == Format.html:
        from modeldyno.present.reports.page import html_report

        return html_report(results, peaks_of=peaks_of)
    benchmarks: list[Any] = [result for result in results if result.has_cells]
    if len(results) == 1 and not benchmarks:
        if format == Format.json:
            return f"{results[0].to_json()}\n"
        return csv_with_artifacts(results[0].to_csv(), results[0].artifacts)
    if len(benchmarks) < len(results):
        raise BadValue(
            "Only benchmarks can share a table",
            fix="Report a comparison or a profile by itself, or all of them as md or html",
        )
    match format:
        case Format.csv:
            return benchmarks_csv(benchmarks)
        case Format.json:
            return f"{json_text(BenchmarkDocument.of(*benchmarks))}\n"
        case _:
            assert_never(format)
