"""Figures that say themselves how they are shown."""

from dataclasses import dataclass, fields, replace
from typing import Annotated

import pytest

from modeldyno.core.documents.benchmarks import csv_columns, csv_row
from modeldyno.core.documents.cells import CellDocument
from modeldyno.core.documents.described import Amount, Described
from modeldyno.core.documents.figures import Figure, FigureColumn, Format, figure_columns
from modeldyno.core.documents.runnables import SummaryDocument
from modeldyno.present.tables import PLACED, further_figures
from tests import values

JOULES = FigureColumn(head="J/item", label="Energy", format="amount", unit="J")


@dataclass(frozen=True, slots=True, kw_only=True)
class Example(Described):
    plain: Amount | None = None
    energy: Annotated[Amount | None, JOULES] = None
    memory: Annotated[int | None, replace(JOULES, format="bytes")] = None


def test_described_fields_are_columns_in_their_order():
    assert list(figure_columns(Example).items()) == [
        ("energy", JOULES),
        ("memory", replace(JOULES, format="bytes")),
    ]


@pytest.mark.parametrize(
    ("format", "value", "text"),
    [
        ("time", 1.5, "1\u202f500"),  # milliseconds, in a table of microseconds
        ("rate", 12.345, "12.3"),
        ("rate", Figure(value=12.345, low=12, high=13), "12.3"),
        ("amount", 0.25, "0.250"),
        ("bytes", 2_500_000, "2.50 MB"),
        ("count", 12_000, "12\u202f000"),
        ("share", 0.125, "12 %"),
        ("count", None, "–"),
        ("amount", Figure(value=None), "–"),
    ],
)
def test_a_value_is_written_as_its_format_says(
    format: Format, value: float | Figure | None, text: str
):
    assert replace(JOULES, format=format).text(value, 1e-6) == text


def test_a_new_figure_has_a_column_where_a_cell_has_it():
    known = dict(figure_columns(CellDocument))
    cells = [values.cell(0), values.cell(1, energy_j_per_item=0.25)]
    assert further_figures(cells, known) == []
    known["energy_j_per_item"] = JOULES
    assert further_figures(cells, known) == ["energy_j_per_item"]
    assert further_figures(cells[:1], known) == []
    assert further_figures(cells, {"energy_j_per_item": replace(JOULES, in_tables=False)}) == []


def test_every_described_figure_is_in_csv_without_its_interval():
    described = figure_columns(CellDocument)
    assert set(described) <= set(csv_columns())
    row = csv_row(values.cell(throughput_per_s=values.figure(8.0, 7.0, 9.0)))
    assert row["throughput_per_s"] == 8.0
    assert set(row) == set(csv_columns())


def test_what_lists_show_is_in_summaries():
    listed = {name for name, of in figure_columns(CellDocument).items() if of.in_lists != "never"}
    assert listed <= {field.name for field in fields(SummaryDocument)}
    assert set(PLACED) <= set(figure_columns(CellDocument))
