"""Benchmarks; their runs are in ``runs.py``."""

from __future__ import annotations

import json
from typing import Any

from sqlalchemy import ColumnElement, Connection, bindparam, select

from modeldyno.core.benchmarks import (
    Baseline,
    Benchmark,
    BenchmarkDetails,
    BenchmarkOutcome,
    BenchmarkRow,
    Mode,
    NewBenchmark,
)
from modeldyno.core.ids import BenchmarkId, DatasetId, ProjectId
from modeldyno.core.pages import Page, Wanted
from modeldyno.core.runs import CellOutcome
from modeldyno.core.specs import BenchmarkSpec, CellSpec
from modeldyno.store.pages import Query
from modeldyno.store.records.finding import COLUMNS, cell_of, is_kind, summary_of, value_of
from modeldyno.store.runnables import (
    Runnables,
    find_in,
    latest_run,
    link,
    linked,
    page_of_kind,
    with_links,
    with_run,
)
from modeldyno.store.tables import CELLS, MODELS, PROJECTS, RUNNABLES

Cells = dict[int, list[CellOutcome]]

_MODEL_ID = link("model").c.model_id
_BASELINE = PROJECTS.c.baseline_benchmark_id.label("baseline_id")


def _with_names(query: Query) -> Query:
    return (
        query.add_columns(MODELS.c.name.label("model_name"), _BASELINE)
        .join(MODELS, MODELS.c.id == _MODEL_ID)
        .join(PROJECTS, PROJECTS.c.id == RUNNABLES.c.project_id)
    )


# Put together once: naming three dozen columns takes longer than reading twenty rows.
_ONLY_IN_DETAILS = ("spec", "fingerprint", "modified_at")
_LISTED = (column for column in COLUMNS if column.name not in _ONLY_IN_DETAILS)
_LIST = _with_names(
    linked(
        select(*_LISTED, _MODEL_ID.label("model_id"))
        .select_from(RUNNABLES)
        .where(is_kind("benchmark")),
        "model_id",
    )
)
_DETAILS = _with_names(with_run(with_links("benchmark"), "latest"))
_OUTCOMES = with_run(with_run(with_links("benchmark"), "latest"), "measured").order_by(
    RUNNABLES.c.number
)


def _cells_of(run_id: ColumnElement[Any]) -> Query:
    """Of one run of each benchmark."""
    return (
        select(CELLS, RUNNABLES.c.number.label("benchmark_id"))
        .join(RUNNABLES, run_id == CELLS.c.run_id)
        .where(is_kind("benchmark"))
        .order_by(RUNNABLES.c.number, CELLS.c.number)
    )


_SHOWN = _cells_of(RUNNABLES.c.shown_run_id).where(
    RUNNABLES.c.number.in_(bindparam("numbers", expanding=True))
)
_MEASURED = _cells_of(RUNNABLES.c.measured_run_id)


class Benchmarks(Runnables[NewBenchmark, Benchmark]):
    kind = "benchmark"

    def details(self, number: BenchmarkId) -> BenchmarkDetails:
        """All that a page about it shows, in two queries."""
        with self._database.reading() as connection:
            row = find_in(connection, self.kind, number, _DETAILS)
            cells = _cells(connection, _SHOWN, numbers=_and_baselines([row]))
        return BenchmarkDetails(
            self._read(row),
            row.model_name,
            latest_run(row),
            tuple(cells.get(number, ())),
            _baseline(row, cells),
        )

    def outcome(self, number: BenchmarkId) -> BenchmarkOutcome:
        with self._database.reading() as connection:
            row = find_in(connection, self.kind, number, _OUTCOMES)
            return self._outcome(
                row, _cells(connection, _MEASURED.where(RUNNABLES.c.number == number))
            )

    def outcomes(self, project_id: ProjectId) -> list[BenchmarkOutcome]:
        """All of a project, oldest first, in two queries however many there are."""
        mine = RUNNABLES.c.project_id == project_id
        with self._database.reading() as connection:
            cells = _cells(connection, _MEASURED.where(mine))
            rows = connection.execute(_OUTCOMES.where(mine)).all()
        return [self._outcome(row, cells) for row in rows]

    def edit(
        self,
        number: BenchmarkId,
        *,
        name: str | None = None,
        mode: Mode | None = None,
        dataset_id: DatasetId | None = None,
        spec: BenchmarkSpec | None = None,
    ) -> Benchmark:
        return self._edit(number, name=name, mode=mode, dataset_id=dataset_id, spec=spec)

    def page(  # type: ignore[override]  # its lists have lines of their own
        self, wanted: Wanted | None = None
    ) -> Page[BenchmarkRow]:
        """With what was asked, what came out and what it is held against, in two queries."""
        with self._database.reading() as connection:
            page = page_of_kind(connection, self.kind, wanted or Wanted(), lambda row: row, _LIST)
            cells: Cells = {}
            if page.items:
                cells = _cells(connection, _SHOWN, numbers=_and_baselines(page.items))
        return Page(tuple(_row(row, cells) for row in page.items), page.next)

    def _outcome(self, row: Any, cells: Cells) -> BenchmarkOutcome:
        return BenchmarkOutcome(
            self._read(row),
            latest_run(row),
            latest_run(row, "measured"),
            tuple(cells.get(row.id, ())),
        )


def _and_baselines(rows: Any) -> list[int]:
    baselines = {row.baseline_id for row in rows if row.baseline_id is not None}
    return [*{row.id for row in rows} | baselines]


def _cells(connection: Connection, query: Query, **values: Any) -> Cells:
    """By benchmark."""
    cells: Cells = {}
    for row in connection.execute(query, values):
        cells.setdefault(row.benchmark_id, []).append(cell_of(row))
    return cells


def _baseline(row: Any, cells: Cells) -> Baseline | None:
    if row.baseline_id is None:
        return None
    return Baseline(BenchmarkId(row.baseline_id), tuple(cells.get(row.baseline_id, ())))


def _row(row: Any, cells: Cells) -> BenchmarkRow:
    outline = json.loads(row.outline)
    return value_of(
        BenchmarkRow,
        row,
        mode=outline["mode"],
        asked=tuple(CellSpec(**cell) for cell in outline["cells"]),
        cells=tuple(cells.get(row.id, ())),
        baseline=_baseline(row, cells),
        summary=summary_of(row),
    )
