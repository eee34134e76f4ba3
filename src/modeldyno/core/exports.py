"""Results as CSV and HTML text; HTML without script, with everything escaped."""

from __future__ import annotations

import csv
import html
import io
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any


def csv_text(
    columns: Iterable[str], rows: Iterable[Mapping[str, Any]], line_end: str = "\n"
) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(columns), lineterminator=line_end)
    writer.writeheader()
    writer.writerows({key: _harmless(value) for key, value in row.items()} for row in rows)
    return text.getvalue()


def _harmless(value: object) -> object:
    """A cell that a spreadsheet would run as a formula is quoted."""
    if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r"):
        return "'" + value
    return value


def html_table(head: Iterable[str], rows: Iterable[Iterable[str]], caption: str = "") -> str:
    """A plain table; ``caption`` and cells are text, not markup."""
    top = "".join(f"<th>{html.escape(name)}</th>" for name in head)
    body = "".join(
        "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    title = f"<caption>{html.escape(caption)}</caption>" if caption else ""
    return f"<table>{title}<thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"


def deliver(text: str, path: str | Path | None) -> str:
    """Hand text back, and write it where a path is given."""
    if path is not None:
        Path(path).write_text(text)
    return text
