"""Results as CSV and HTML text; HTML without script, with everything escaped."""

from __future__ import annotations

import csv
import html
import io
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from modeldyno.core.runs import Artifact

ARTIFACTS = "artifacts"  # the column of files of a run


def csv_text(
    columns: Iterable[str], rows: Iterable[Mapping[str, Any]], line_end: str = "\n"
) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(columns), lineterminator=line_end)
    writer.writeheader()
    writer.writerows({name: _without_formula(cell) for name, cell in row.items()} for row in rows)
    return text.getvalue()


def csv_with_artifacts(text: str, artifacts: Sequence[Artifact]) -> str:
    """The table of a run with a column for its files, if it has any; the same in all rows."""
    head, *rows = csv.reader(io.StringIO(text))
    if not artifacts or ARTIFACTS in head:
        return text
    files, wider = artifacts_text(artifacts), io.StringIO()
    writer = csv.writer(wider, lineterminator="\n")
    writer.writerows([[*head, ARTIFACTS], *([*row, files] for row in rows)])
    return wider.getvalue()


def artifacts_text(artifacts: Iterable[Artifact]) -> str:
    """``trace.json 512 <sha256>; …``: names, sizes in bytes and checksums."""
    return "; ".join(f"{file.name} {file.size_bytes} {file.sha256}" for file in artifacts)


def _without_formula(cell: object) -> object:
    """Quotes what a spreadsheet would run as a formula."""
    is_formula = isinstance(cell, str) and cell[:1] in ("=", "+", "-", "@", "\t", "\r")
    return f"'{cell}" if is_formula else cell


def html_table(head: Iterable[str], rows: Iterable[Iterable[str]], caption: str = "") -> str:
    """A plain table; ``caption`` and cells are text, not markup."""
    top = "".join(f"<th>{html.escape(name)}</th>" for name in head)
    body = "".join(
        "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    title = f"<caption>{html.escape(caption)}</caption>" if caption else ""
    return f"<table>{title}<thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"


def write_if_given_path(text: str, path: str | Path | None) -> str:
    """Returns the text, and writes it to ``path`` if given."""
    if path is not None:
        Path(path).write_text(text)
    return text
