"""Benchmarks and their cells; their runs are in ``runs.py``."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

from sqlalchemy import ColumnElement, Connection, bindparam, delete, exists, insert, select

from modeldyno.core.benchmarks import (
    Baseline,
    Benchmark,
    BenchmarkDetails,
    BenchmarkOutcome,
    BenchmarkRow,
    Mode,
    NewBenchmark,
)
from modeldyno.core.codec import decode, encode
from modeldyno.core.ids import BenchmarkId, DatasetId, ProjectId
from modeldyno.core.pages import Page, Wanted
from modeldyno.core.runs import CellOutcome
from modeldyno.core.specs import BenchmarkSpec, CellSpec
from modeldyno.core.summaries import summarise_spec
from modeldyno.store import runnables
from modeldyno.store.database import Database
from modeldyno.store.deleting import delete_thing
from modeldyno.store.latest_runs import latest_run_of, newest, told_of, with_latest_run
from modeldyno.store.pages import Query
from modeldyno.store.records.finding import (
    Clock,
    expect_in_project,
    find,
    not_found,
    summary_of,
    utc_now,
    value_of,
)
from modeldyno.store.tables import BENCHMARKS, CELL_OUTCOMES, CELLS, JOBS, MODELS, PROJECTS, RUNS

_COLUMNS = runnables.without(BENCHMARKS.c, "spec", "fingerprint", "dataset_id", "modified_at")
# Put together once: naming three dozen columns takes longer than reading twenty rows.
_BASELINE = PROJECTS.c.baseline_benchmark_id.label("baseline_id")
_LIST = (
    select(*_COLUMNS, MODELS.c.name.label("model_name"), _BASELINE)
    .join(MODELS, MODELS.c.id == BENCHMARKS.c.model_id)
    .join(PROJECTS, PROJECTS.c.id == BENCHMARKS.c.project_id)
)
_DETAILS = with_latest_run(
    select(*BENCHMARKS.c, MODELS.c.name.label("model_name"), _BASELINE)
    .join(MODELS, MODELS.c.id == BENCHMARKS.c.model_id)
    .join(PROJECTS, PROJECTS.c.id == BENCHMARKS.c.project_id),
    "benchmark",
).where(BENCHMARKS.c.id == bindparam("number"))
_OUTCOMES = (
    select(CELL_OUTCOMES)
    .where(
        CELL_OUTCOMES.c.run_id
        == newest("benchmark", bindparam("number"))
        .where(exists().where(CELL_OUTCOMES.c.run_id == RUNS.c.id))
        .scalar_subquery()
    )
    .order_by(CELL_OUTCOMES.c.number)
)
_ALL = select(BENCHMARKS).select_from(BENCHMARKS)
_WITH_LATEST = with_latest_run(_ALL, "benchmark").order_by(BENCHMARKS.c.id)
_Newer, _Figures = RUNS.alias(), CELL_OUTCOMES.alias()
_ASKED = (
    select(CELLS)
    .where(CELLS.c.benchmark_id.in_(bindparam("numbers", expanding=True)))
    .order_by(CELLS.c.benchmark_id, CELLS.c.number)
)
_SHOWN = (
    select(*CELL_OUTCOMES.c, RUNS.c.benchmark_id)
    .join(RUNS, RUNS.c.id == CELL_OUTCOMES.c.run_id)
    .where(
        RUNS.c.benchmark_id.in_(bindparam("numbers", expanding=True)),
        RUNS.c.id
        == select(_Newer.c.id)
        .where(
            _Newer.c.benchmark_id == RUNS.c.benchmark_id,
            exists().where(_Figures.c.run_id == _Newer.c.id),
        )
        .correlate(RUNS)
        .order_by(_Newer.c.created_at.desc(), _Newer.c.id.desc())
        .limit(1)
        .scalar_subquery(),
    )
    .order_by(RUNS.c.benchmark_id, CELL_OUTCOMES.c.number)
)
_MEASURED = (
    select(
        *CELL_OUTCOMES.c,
        RUNS.c.benchmark_id,
        *(column.label(f"latest_{column.name}") for column in told_of(RUNS.c)),
        JOBS.c.id.label("latest_job_id"),
    )
    .select_from(CELL_OUTCOMES)
    .join(RUNS, RUNS.c.id == CELL_OUTCOMES.c.run_id)
    .outerjoin(JOBS, JOBS.c.run_id == RUNS.c.id)
    .where(
        RUNS.c.id
        == select(_Newer.c.id)
        .where(
            _Newer.c.benchmark_id == RUNS.c.benchmark_id,
            exists().where(_Figures.c.run_id == _Newer.c.id, _Figures.c.typical_s.is_not(None)),
        )
        .correlate(RUNS)
        .order_by(_Newer.c.created_at.desc(), _Newer.c.id.desc())
        .limit(1)
        .scalar_subquery()
    )
    .order_by(RUNS.c.benchmark_id, CELL_OUTCOMES.c.number)
)


class Benchmarks:
    def __init__(self, database: Database, clock: Clock = utc_now) -> None:
        self._database = database
        self._clock = clock

    def add(self, new: NewBenchmark) -> Benchmark:
        with self._database.writing() as connection:
            number = add_benchmark(connection, new, self._clock)
            return _benchmark(find(connection, "benchmark", number))

    def get(self, number: BenchmarkId) -> Benchmark:
        with self._database.reading() as connection:
            return _benchmark(find(connection, "benchmark", number))

    def details(self, number: BenchmarkId) -> BenchmarkDetails:
        """All that a page about it shows, in two queries; three where there is a baseline."""
        with self._database.reading() as connection:
            row = connection.execute(_DETAILS, {"number": number}).one_or_none()
            if row is None:
                raise not_found("benchmark", number)
            cells = connection.execute(_OUTCOMES, {"number": number}).all()
            baseline = None
            if row.baseline_id is not None:
                found = _shown(connection, [row.baseline_id])
                baseline = _baseline(row.baseline_id, found)
        outcomes = tuple(value_of(CellOutcome, cell) for cell in cells)
        return BenchmarkDetails(
            _benchmark(row), row.model_name, latest_run_of(row), outcomes, baseline
        )

    def outcome(self, number: BenchmarkId) -> BenchmarkOutcome:
        with self._database.reading() as connection:
            found = _outcomes(connection, BENCHMARKS.c.id == number, RUNS.c.benchmark_id == number)
        if not found:
            raise not_found("benchmark", number)
        return found[0]

    def outcomes(self, project_id: ProjectId) -> list[BenchmarkOutcome]:
        """All of a project, oldest first, in two queries however many there are."""
        mine, theirs = BENCHMARKS.c.project_id == project_id, RUNS.c.project_id == project_id
        with self._database.reading() as connection:
            return _outcomes(connection, mine, theirs)

    def edit(
        self,
        number: BenchmarkId,
        *,
        name: str | None = None,
        mode: Mode | None = None,
        dataset_id: DatasetId | None = None,
        spec: BenchmarkSpec | None = None,
    ) -> Benchmark:
        """What is not given stays; raises WrongState once it has run (a name may change still)."""
        values: dict[str, Any] = {"name": name, "mode": mode, "dataset_id": dataset_id}
        if spec is not None:
            values |= {"spec": encode(spec)} | asdict(summarise_spec(spec))
        with self._database.writing() as connection:
            runnables.edit(connection, "benchmark", number, values, self._clock())
            if spec is not None:
                connection.execute(delete(CELLS).where(CELLS.c.benchmark_id == number))
                _add_cells(connection, number, spec.cells)
            return _benchmark(find(connection, "benchmark", number))

    def rerun(self, number: BenchmarkId) -> Benchmark:
        """A new one with the same settings, that knows what it repeats."""
        with self._database.writing() as connection:
            before = _benchmark(find(connection, "benchmark", number))
            new = NewBenchmark(
                project_id=before.project_id,
                model_id=before.model_id,
                name=before.name,
                spec=before.spec,
                mode=before.mode,
                dataset_id=before.dataset_id,
                rerun_of=before.id,
            )
            again = add_benchmark(connection, new, self._clock)
            return _benchmark(find(connection, "benchmark", again))

    def page(self, wanted: Wanted | None = None) -> Page[BenchmarkRow]:
        wanted = wanted or Wanted()
        query: Query = _LIST
        if wanted.engine is not None:
            cells = exists().where(
                CELLS.c.benchmark_id == BENCHMARKS.c.id, CELLS.c.engine == wanted.engine
            )
            query = query.where(cells | (BENCHMARKS.c.engine == wanted.engine))
        with self._database.reading() as connection:
            found = runnables.page(connection, "benchmark", wanted, _row, query)
            return replace(found, items=_with_cells(connection, found.items))

    def of_fingerprint(self, project_id: ProjectId, fingerprint: str) -> BenchmarkId | None:
        query = select(BENCHMARKS.c.id).where(
            BENCHMARKS.c.project_id == project_id, BENCHMARKS.c.fingerprint == fingerprint
        )
        with self._database.reading() as connection:
            found = connection.scalar(query)
        return BenchmarkId(found) if found else None

    def delete(self, number: BenchmarkId, *, cascade: bool = False) -> None:
        """With its runs; their folders follow when somebody sweeps."""
        with self._database.writing() as connection:
            delete_thing(connection, "benchmark", number, self._clock(), cascade=cascade)


def _with_cells(connection: Connection, rows: tuple[BenchmarkRow, ...]) -> tuple[BenchmarkRow, ...]:
    """What was asked, what came out and what it is held against, in two queries however many rows
    there are."""
    if not rows:
        return rows
    asked: dict[int, list[CellSpec]] = {}
    for row in connection.execute(_ASKED, {"numbers": [row.id for row in rows]}):
        asked.setdefault(row.benchmark_id, []).append(value_of(CellSpec, row))
    baselines = {row.baseline_id for row in rows if row.baseline_id is not None}
    cells = _shown(connection, [*{row.id for row in rows} | baselines])
    return tuple(
        replace(
            row,
            asked=tuple(asked.get(row.id, ())),
            cells=tuple(cells.get(row.id, ())),
            baseline=_baseline(row.baseline_id, cells),
        )
        for row in rows
    )


def _shown(connection: Connection, numbers: list[int]) -> dict[int, list[CellOutcome]]:
    """Cells of the latest run that has some, by benchmark."""
    found: dict[int, list[CellOutcome]] = {}
    for row in connection.execute(_SHOWN, {"numbers": numbers}):
        found.setdefault(row.benchmark_id, []).append(value_of(CellOutcome, row))
    return found


def _baseline(number: int | None, cells: dict[int, list[CellOutcome]]) -> Baseline | None:
    if number is None:
        return None
    return Baseline(BenchmarkId(number), tuple(cells.get(number, ())))


def _outcomes(
    connection: Connection, benchmarks: ColumnElement[bool], runs: ColumnElement[bool]
) -> list[BenchmarkOutcome]:
    measured: dict[int, list[Any]] = {}
    for row in connection.execute(_MEASURED.where(runs)):
        measured.setdefault(row.benchmark_id, []).append(row)
    return [
        BenchmarkOutcome(
            _benchmark(row),
            latest_run_of(row),
            latest_run_of(cells[0]) if cells else None,
            tuple(value_of(CellOutcome, cell) for cell in cells),
        )
        for row in connection.execute(_WITH_LATEST.where(benchmarks))
        for cells in (measured.get(row.id, []),)
    ]


def add_benchmark(connection: Connection, new: NewBenchmark, clock: Clock) -> int:
    expect_in_project(
        connection,
        new.project_id,
        model=new.model_id,
        dataset=new.dataset_id,
        rerun_of_benchmark=new.rerun_of,
    )
    values = encode(new) | asdict(summarise_spec(new.spec))
    number = runnables.add(connection, "benchmark", new.project_id, new.name, values, clock())
    _add_cells(connection, number, new.spec.cells)
    return number


def _add_cells(connection: Connection, number: int, cells: tuple[CellSpec, ...]) -> None:
    if not cells:
        return
    rows = [
        {
            "benchmark_id": number,
            "number": place,
            "engine": cell.engine,
            "device": cell.device,
            "precision": cell.precision,
            "batch_size": cell.batch_size,
            "cores": cell.cores,
            "instances": cell.instances,
            "streams": cell.streams,
        }
        for place, cell in enumerate(cells)
    ]
    connection.execute(insert(CELLS), rows)


def _benchmark(row: Any) -> Benchmark:
    spec = decode(BenchmarkSpec, row.spec)
    return value_of(Benchmark, row, spec=spec, summary=summary_of(row))


def _row(row: Any) -> BenchmarkRow:
    return value_of(BenchmarkRow, row, summary=summary_of(row))
