"""How figures are shown in tables: a description beside their declaration.

Exports, tables of the terminal, Markdown, HTML and the page read it (`make types` writes it to
web/src/api/figures.gen.ts). A figure that is declared with one needs no edit of any of them; it
comes after what they had before.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cache
from types import MappingProxyType
from typing import Any, Literal, get_args, get_type_hints

from modeldyno.core import figures
from modeldyno.core.documents.figure import Figure

# Of the field's value: milliseconds, per second, bytes, a whole number, a part of 1, anything else.
Format = Literal["time", "rate", "bytes", "count", "share", "amount"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureColumn:
    """As in ``Annotated[int | None, FigureColumn(…)]``. Every such field is a column of CSV."""

    head: str  # in tables of text
    label: str  # on the page
    format: Format
    unit: str = ""  # where the format does not say it
    in_tables: bool = True  # of text, where any cell has it …
    has_place: bool = False  # … or always, among those that are not only a field of a cell
    # Lists of the page show it, or offer it; they have it from SummaryDocument.
    in_lists: Literal["always", "wanted", "never"] = "wanted"
    is_among_first: bool = False  # in lists, right after latency; others come last
    on_card: bool = True  # of a cell, and where two cells are compared

    def text(self, value: float | Figure | None, scale: float) -> str:
        """For a table whose times are in units of ``scale`` seconds."""
        number = plain_value(value)
        if number is None:
            return figures.NOTHING
        match self.format:
            case "time":
                return figures.plain(number / 1e3 / scale)
            case "bytes":
                return figures.size(int(number))
            case "count":
                return figures.spaced(number, 0)
            case "share":
                return figures.percent(number)
            case "rate" | "amount":
                return figures.plain(number)


def plain_value(value: float | Figure | None) -> float | None:
    """Without its interval."""
    return value.value if isinstance(value, Figure) else value


@cache
def figure_columns(document: type[Any]) -> Mapping[str, FigureColumn]:
    """The columns that a document describes, by the names of their fields, in their order."""
    annotations = get_type_hints(document, include_extras=True)
    described = {
        field.name: [
            part for part in get_args(annotations[field.name]) if isinstance(part, FigureColumn)
        ]
        for field in fields(document)
    }
    return MappingProxyType({name: columns[0] for name, columns in described.items() if columns})
