"""Optimizations and the trials of their runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, bindparam, insert, select, update

from modeldyno.core.codec import encode
from modeldyno.core.errors import BadValue
from modeldyno.core.ids import BenchmarkId, DatasetId, OptimizationId, RunId
from modeldyno.core.models import Model
from modeldyno.core.optimizations import (
    NewOptimization,
    Optimization,
    OptimizationDetails,
    PinKind,
    Trial,
)
from modeldyno.core.pages import Page, Wanted
from modeldyno.core.tuning import OptimizationType
from modeldyno.store import runnables
from modeldyno.store.database import Database
from modeldyno.store.deleting import delete_thing
from modeldyno.store.latest_runs import latest_run_of, with_latest_run
from modeldyno.store.moves import find_run
from modeldyno.store.records.events import tell
from modeldyno.store.records.finding import (
    Clock,
    expect_in_project,
    find,
    not_found,
    summary_of,
    utc_now,
    value_of,
)
from modeldyno.store.records.models import model_of
from modeldyno.store.tables import DATASETS, MODELS, OPTIMIZATIONS, PINS, RUNS, TRIALS

_DETAILS = with_latest_run(
    select(*OPTIMIZATIONS.c, DATASETS.c.name.label("dataset_name")).outerjoin(
        DATASETS, DATASETS.c.id == OPTIMIZATIONS.c.dataset_id
    ),
    "optimization",
)
_ONE = _DETAILS.where(OPTIMIZATIONS.c.id == bindparam("number"))


class Optimizations:
    def __init__(self, database: Database, clock: Clock = utc_now) -> None:
        self._database = database
        self._clock = clock

    def add(self, new: NewOptimization) -> Optimization:
        with self._database.writing() as connection:
            number = add_optimization(connection, new, self._clock)
            return _optimization(find(connection, "optimization", number))

    def get(self, number: OptimizationId) -> Optimization:
        with self._database.reading() as connection:
            return _optimization(find(connection, "optimization", number))

    def details(self, number: OptimizationId) -> OptimizationDetails:
        with self._database.reading() as connection:
            row = connection.execute(_ONE, {"number": number}).one_or_none()
            if row is None:
                raise not_found("optimization", number)
            return _with_details(connection, [row])[0]

    def details_page(self, wanted: Wanted) -> Page[OptimizationDetails]:
        """Three queries, however many there are."""
        with self._database.reading() as connection:
            found = runnables.page(connection, "optimization", wanted, lambda row: row, _DETAILS)
            return Page(tuple(_with_details(connection, found.items)), found.next)

    def edit(
        self,
        number: OptimizationId,
        *,
        name: str | None = None,
        type: OptimizationType | None = None,
        precision: str | None = None,
        dataset_id: DatasetId | None = None,
        settings: dict[str, Any] | None = None,
    ) -> Optimization:
        """What is not given stays, single settings included; raises WrongState once it has run."""
        values = {"name": name, "type": type, "dataset_id": dataset_id, "settings": settings}
        values |= {"target_precision": precision}
        with self._database.writing() as connection:
            runnables.edit(connection, "optimization", number, values, self._clock())
            return _optimization(find(connection, "optimization", number))

    def page(self, wanted: Wanted | None = None) -> Page[Optimization]:
        with self._database.reading() as connection:
            return runnables.page(connection, "optimization", wanted or Wanted(), _optimization)

    def add_trial(self, trial: Trial) -> None:
        """Durable when this returns. One that is the best so far replaces the best before."""
        with self._database.writing() as connection:
            run = find_run(connection, trial.run_id)
            if run.kind != "optimization":
                raise BadValue(f"Run {run.id} has no trials", why=f"it is of a {run.kind}")
            expect_in_project(connection, run.project_id, model=trial.model_id)
            if trial.is_best:
                others = update(TRIALS).where(TRIALS.c.run_id == trial.run_id)
                connection.execute(others.values(is_best=False))
            connection.execute(
                insert(TRIALS).values(encode(trial) | {"created_at": trial.created_at})
            )
            payload = {"id": run.optimization_id, "run_id": run.id, "trial": trial.number}
            tell(connection, "optimization.trial", run.project_id, payload, self._clock())

    def trials(self, run_id: RunId) -> tuple[Trial, ...]:
        query = select(TRIALS).where(TRIALS.c.run_id == run_id).order_by(TRIALS.c.number)
        with self._database.reading() as connection:
            return tuple(value_of(Trial, row) for row in connection.execute(query))

    def best_trials(self, numbers: list[OptimizationId]) -> dict[OptimizationId, Trial]:
        """Of the latest run of each that has one, in one query: for a page of a list."""
        query = (
            select(*TRIALS.c, RUNS.c.optimization_id)
            .join(RUNS, RUNS.c.id == TRIALS.c.run_id)
            .where(RUNS.c.optimization_id.in_(numbers), TRIALS.c.is_best)
            .order_by(RUNS.c.id)
        )
        with self._database.reading() as connection:
            rows = connection.execute(query).all()
        return {OptimizationId(row.optimization_id): value_of(Trial, row) for row in rows}

    def delete(self, number: OptimizationId, *, cascade: bool = False) -> None:
        """With runs, trials and pins; the models it made stay."""
        with self._database.writing() as connection:
            delete_thing(connection, "optimization", number, self._clock(), cascade=cascade)


def add_optimization(connection: Connection, new: NewOptimization, clock: Clock) -> int:
    values = encode(new)
    values["target_precision"] = values.pop("precision")  # the other one is of its latest run
    expect_in_project(connection, new.project_id, model=new.model_id, dataset=new.dataset_id)
    return runnables.add(connection, "optimization", new.project_id, new.name, values, clock())


def _with_details(connection: Connection, rows: Sequence[Any]) -> list[OptimizationDetails]:
    numbers = [row.id for row in rows]
    made, pins = _made(connection, numbers), _pins(connection, numbers)
    return [
        OptimizationDetails(
            optimization=_optimization(row),
            dataset_name=row.dataset_name,
            latest=latest_run_of(row),
            made=made.get(row.id),
            pins=pins.get(row.id, {}),
        )
        for row in rows
    ]


def _made(connection: Connection, numbers: list[int]) -> dict[int, Model]:
    """The best model of the latest run of each that has one."""
    query = (
        select(*MODELS.c, RUNS.c.optimization_id.label("made_by"))
        .join(TRIALS, TRIALS.c.model_id == MODELS.c.id)
        .join(RUNS, RUNS.c.id == TRIALS.c.run_id)
        .where(RUNS.c.optimization_id.in_(numbers), TRIALS.c.is_best)
        .order_by(RUNS.c.id)
    )
    return {row.made_by: model_of(row) for row in connection.execute(query)}


def _pins(connection: Connection, numbers: list[int]) -> dict[int, dict[PinKind, BenchmarkId]]:
    found: dict[int, dict[PinKind, BenchmarkId]] = {}
    for row in connection.execute(select(PINS).where(PINS.c.optimization_id.in_(numbers))):
        found.setdefault(row.optimization_id, {})[row.kind] = BenchmarkId(row.benchmark_id)
    return found


def _optimization(row: Any) -> Optimization:
    return value_of(Optimization, row, precision=row.target_precision, summary=summary_of(row))
