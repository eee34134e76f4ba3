"""Benchmarks; their runs are in ``runs.py``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, Integer, bindparam, func, select

from modeldyno.core.benchmarks import (
    Baseline,
    Benchmark,
    BenchmarkDetails,
    BenchmarkOutcome,
    BenchmarkRow,
    CellFigures,
    MeasuredCell,
    MeasuredCells,
    NewBenchmark,
    StoredCells,
)
from modeldyno.core.cell_axes import AXES
from modeldyno.core.codec import decode
from modeldyno.core.ids import BenchmarkId, ProjectId
from modeldyno.core.runs import ListQuery, Page
from modeldyno.core.specs import BenchmarkSpec
from modeldyno.store.documents import (
    FIGURE_COLUMNS,
    REVISION,
    cell_figures_from_row,
    planned_cells_json,
    read_cell_json,
    read_summary_json,
)
from modeldyno.store.records.rows import is_of_kind_sql
from modeldyno.store.runnables import (
    RunnableRecords,
    join_link,
    join_run,
    latest_run_from_row,
    link_table_alias,
    read_page_of_kind,
    select_with_links,
)
from modeldyno.store.state_changes import read_columns_of_latest_run
from modeldyno.store.statements import Query, fetch_rows
from modeldyno.store.tables import CELLS, MODELS, PROJECTS, RUNNABLES

_MODEL_ID = link_table_alias("model").c.model_id
_BASELINE = PROJECTS.c.baseline_benchmark_id.label("baseline_id")


def _filter_benchmarks_by_project(query: Query) -> Query:
    """Join the model, and the baseline of the project."""
    return (
        query.add_columns(_BASELINE)
        .join(MODELS, MODELS.c.id == _MODEL_ID)
        .join(PROJECTS, PROJECTS.c.id == RUNNABLES.c.project_id)
    )


# The columns of a BenchmarkRow, in its order.
_LISTED = (
    RUNNABLES.c.number.label("id"),
    *(RUNNABLES.c.project_id, RUNNABLES.c.name),
    _MODEL_ID.label("model_id"),
    MODELS.c.name.label("model_name"),
    *(RUNNABLES.c[name] for name in ("state", "created_at", "last_run_at", "rerun_of")),
)
_WRITTEN = (RUNNABLES.c[name] for name in ("document", "outline", "revision", "number"))
_LIST = _filter_benchmarks_by_project(
    join_link(
        select(*_LISTED, *_WRITTEN, RUNNABLES.c.id.label("runnable_id"))
        .select_from(RUNNABLES)
        .where(is_of_kind_sql("benchmark")),
        "model_id",
    )
)
_DETAILS = _filter_benchmarks_by_project(
    join_run(select_with_links("benchmark"), "latest")
).add_columns(MODELS.c.name.label("model_name"))
_OUTCOME = join_run(join_run(select_with_links("benchmark"), "latest"), "measured")
_NUMBERS = RUNNABLES.c.number.in_(bindparam("numbers", expanding=True))


def _select_cell_figures(run_id: ColumnElement[Any], *columns: Any) -> Query:
    """Figures of the cells of the run ``run_id`` of each benchmark, and more columns."""
    return (
        select(*FIGURE_COLUMNS, RUNNABLES.c.number.label("benchmark_id"), *columns)
        .join(RUNNABLES, run_id == CELLS.c.run_id)
        .where(is_of_kind_sql("benchmark"))
        .order_by(RUNNABLES.c.number, CELLS.c.number)
    )


_SHOWN = _select_cell_figures(RUNNABLES.c.shown_run_id).where(_NUMBERS)
_WITH_DOCUMENTS = _select_cell_figures(
    RUNNABLES.c.shown_run_id,
    *(CELLS.c[name] for name in ("status", "peak_memory_bytes", "document", "revision")),
)
_SHOWN_DOCUMENTS = _WITH_DOCUMENTS.where(_NUMBERS)
_SHOWN_DOCUMENTS_OF_ONE = _WITH_DOCUMENTS.where(
    RUNNABLES.c.number.in_(
        [bindparam("number", type_=Integer), bindparam("baseline", type_=Integer)]
    )
)
_MEASURED = _select_cell_figures(RUNNABLES.c.measured_run_id)
_OF_PROJECT = RUNNABLES.c.project_id == bindparam("project", type_=Integer)
_OUTCOMES_OF_PROJECT = _OUTCOME.where(_OF_PROJECT).order_by(RUNNABLES.c.number)
_MEASURED_OF_PROJECT = _MEASURED.where(_OF_PROJECT)
_MEASURED_OF_ONE = _MEASURED.where(RUNNABLES.c.number == bindparam("number", type_=Integer))
# A configuration: of the benchmarks that measured it, only the newest counts. Its shape includes
# sizes.
_KEYS = tuple(axis.name for axis in AXES if axis.kind != "sizes")
_CONFIGURATION = (*(CELLS.c[name] for name in _KEYS), CELLS.c.shape, _MODEL_ID)
_NEWEST = join_link(
    select(*_CONFIGURATION, func.max(RUNNABLES.c.number))
    .join(RUNNABLES, RUNNABLES.c.measured_run_id == CELLS.c.run_id)
    .where(is_of_kind_sql("benchmark"), _OF_PROJECT, CELLS.c.typical_s.is_not(None))
    .group_by(*_CONFIGURATION),
    "model_id",
)
_CONTENDING = (
    join_link(
        _select_cell_figures(RUNNABLES.c.measured_run_id, RUNNABLES.c.name, CELLS.c.shape),
        "model_id",
    )
    .add_columns(_MODEL_ID)
    .where(_NUMBERS, CELLS.c.typical_s.is_not(None))
)
_COUNT_MEASURED = select(func.count(), func.min(RUNNABLES.c.number)).where(
    is_of_kind_sql("benchmark"), _OF_PROJECT, RUNNABLES.c.measured_run_id.is_not(None)
)
_PLANNED = select(RUNNABLES.c.number, RUNNABLES.c.spec).where(is_of_kind_sql("benchmark"), _NUMBERS)


class BenchmarkRecords(RunnableRecords[NewBenchmark, Benchmark]):
    kind = "benchmark"

    def details(self, number: int) -> BenchmarkDetails:
        """All that a page about it shows, in two queries."""
        with self._database.reading() as connection:
            row = self._read_row(connection, number, _DETAILS)
            # Never null: PostgreSQL would plan anew for it each time.
            of_one = {"number": number, "baseline": row.baseline_id or number}
            rows = fetch_rows(connection, _SHOWN_DOCUMENTS_OF_ONE, **of_one)
            cells = _group_cells_by_benchmark(connection, [row], rows, with_documents=True)
            outline = _read_outline(connection, row)
        return BenchmarkDetails(
            self._from_row(row),
            row.model_name,
            latest_run_from_row(row),
            row.spec_json,
            outline,
            cells[number],
        )

    def outcome(self, number: BenchmarkId) -> BenchmarkOutcome:
        with self._database.reading() as connection:
            row = self._read_row(connection, number, _OUTCOME)
            cells = _figures_by_benchmark(fetch_rows(connection, _MEASURED_OF_ONE, number=number))
        return self._outcome_from_row(row, cells)

    def outcomes(self, project_id: ProjectId) -> list[BenchmarkOutcome]:
        """Those of a project, oldest first, in two queries."""
        with self._database.reading() as connection:
            cells = _figures_by_benchmark(
                fetch_rows(connection, _MEASURED_OF_PROJECT, project=project_id)
            )
            rows = fetch_rows(connection, _OUTCOMES_OF_PROJECT, project=project_id)
        return [self._outcome_from_row(row, cells) for row in rows]

    def measured_cells(self, project_id: ProjectId) -> MeasuredCells:
        project = {"project": project_id}
        with self._database.reading() as connection:
            newest = {row[:-1]: row[-1] for row in connection.execute(_NEWEST, project)}
            numbers = {"numbers": [*set(newest.values())]}
            rows = connection.execute(_CONTENDING, numbers).all() if newest else ()
            count, first = connection.execute(_COUNT_MEASURED, project).one()
        cells = (
            MeasuredCell(
                BenchmarkId(row.benchmark_id), row.name, row.model_id, cell_figures_from_row(row)
            )
            for row in rows
            if newest[(*_cell_key(row), row.shape, row.model_id)] == row.benchmark_id
        )
        return MeasuredCells(tuple(cells), count, first)

    def page(  # type: ignore[override]  # its lists have lines of their own
        self, list_query: ListQuery | None = None, *, with_cells: bool = False
    ) -> Page[BenchmarkRow]:
        """In one query; in two with cells, or with a baseline to compare with."""
        with self._database.reading() as connection:
            page = read_page_of_kind(
                connection, self.kind, list_query or ListQuery(), lambda row: row, _LIST
            )
            cells = _read_cells_of_page(connection, page.items, with_documents=with_cells)
            rows = tuple(
                BenchmarkRow._make((*_listed_fields(connection, row), cells.get(row.id, _NO_CELLS)))
                for row in page.items
            )
        return Page(rows, page.next)

    def _outcome_from_row(self, row: Any, cells: dict[int, list[CellFigures]]) -> BenchmarkOutcome:
        latest = latest_run_from_row(row)
        is_latest = row.measured_id == row.latest_id
        measured = latest if is_latest else latest_run_from_row(row, "measured")
        return BenchmarkOutcome(self._from_row(row), latest, measured, tuple(cells.get(row.id, ())))


def _listed_fields(connection: Connection, row: Any) -> tuple[Any, ...]:
    """The fields of a BenchmarkRow without its cells."""
    if row.revision >= REVISION:
        fields: tuple[Any, ...] = row[: len(_LISTED) + 2]
        return fields
    return (*row[: len(_LISTED)], read_summary_json(row), _read_outline(connection, row))


def _read_outline(connection: Connection, row: Any) -> str:
    """Rebuilt if an older version wrote it."""
    if row.revision < REVISION:
        return str(read_columns_of_latest_run(connection, row.runnable_id)["outline"])
    outline: str = row.outline
    return outline


def _figures_by_benchmark(rows: Iterable[Any]) -> dict[int, list[CellFigures]]:
    """Figures by benchmark."""
    cells: dict[int, list[CellFigures]] = {}
    for row in rows:
        cells.setdefault(row.benchmark_id, []).append(cell_figures_from_row(row))
    return cells


def _cell_key(row: Any) -> tuple[Any, ...]:
    return tuple(getattr(row, name) for name in _KEYS)


_NO_CELLS = StoredCells()


def _read_cells_of_page(
    connection: Connection, rows: Sequence[Any], *, with_documents: bool
) -> dict[int, StoredCells]:
    baselines = {row.baseline_id for row in rows} - {None}
    if not rows or not (baselines or with_documents):
        return {}
    query = _SHOWN_DOCUMENTS if with_documents else _SHOWN
    numbers = [*{row.id for row in rows} | baselines]
    cells = connection.execute(query, {"numbers": numbers})
    return _group_cells_by_benchmark(connection, rows, cells, with_documents=with_documents)


def _group_cells_by_benchmark(
    connection: Connection, rows: Sequence[Any], cells: Iterable[Any], *, with_documents: bool
) -> dict[int, StoredCells]:
    """By benchmark. Cells that were not measured have documents that say so."""
    figures: dict[int, list[CellFigures]] = {}
    documents: dict[int, tuple[str, ...]] = {}
    for cell in cells:
        figures.setdefault(cell.benchmark_id, []).append(cell_figures_from_row(cell))
        if with_documents:
            before = documents.get(cell.benchmark_id, ())
            documents[cell.benchmark_id] = (*before, read_cell_json(cell))
    if with_documents and (unmeasured := {row.id for row in rows} - documents.keys()):
        documents |= _planned_cells_by_benchmark(connection, unmeasured)
    return {
        row.id: StoredCells(
            documents.get(row.id, ()),
            tuple(figures.get(row.id, ())),
            None
            if row.baseline_id is None
            else Baseline(BenchmarkId(row.baseline_id), tuple(figures.get(row.baseline_id, ()))),
        )
        for row in rows
    }


def _planned_cells_by_benchmark(
    connection: Connection, numbers: set[int]
) -> dict[int, tuple[str, ...]]:
    documents = {}
    for number, own in connection.execute(_PLANNED, {"numbers": [*numbers]}):
        spec: BenchmarkSpec = decode(BenchmarkSpec, own["spec"])
        documents[number] = planned_cells_json(spec.configurations())
    return documents
