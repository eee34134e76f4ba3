"""Optimizations and the trials of their runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, insert, select, update

from modeldyno.core.codec import encode
from modeldyno.core.errors import BadValue
from modeldyno.core.ids import BenchmarkId, OptimizationId, RunId
from modeldyno.core.models import Model
from modeldyno.core.optimizations import (
    NewOptimization,
    Optimization,
    OptimizationDetails,
    PinKind,
    Trial,
)
from modeldyno.core.runs import ListQuery, Page
from modeldyno.store.records.events import add_event
from modeldyno.store.records.models import model_from_row
from modeldyno.store.records.pins import read_pins_of_optimizations
from modeldyno.store.records.rows import dataclass_from_row, is_of_kind_sql, require_in_project
from modeldyno.store.runnables import (
    RunnableRecords,
    join_run,
    latest_run_from_row,
    link_table_alias,
    read_page_of_kind,
    select_with_links,
)
from modeldyno.store.state_changes import find_run
from modeldyno.store.tables import DATASETS, MODELS, RUNNABLES, RUNS, TRIALS

_DETAILS = join_run(
    select_with_links("optimization")
    .add_columns(DATASETS.c.name.label("dataset_name"))
    .outerjoin(DATASETS, DATASETS.c.id == link_table_alias("dataset").c.dataset_id),
    "latest",
)


class OptimizationRecords(RunnableRecords[NewOptimization, Optimization]):
    kind = "optimization"

    def details(self, number: int) -> OptimizationDetails:
        with self._database.reading() as connection:
            return self._details_from_rows(
                connection, [self._read_row(connection, number, _DETAILS)]
            )[0]

    def read_details_page(self, list_query: ListQuery) -> Page[OptimizationDetails]:
        """In three queries. The engine filter is ignored: an optimization has no engine."""
        list_query = replace(list_query, engine=None)
        with self._database.reading() as connection:
            page = read_page_of_kind(connection, self.kind, list_query, lambda row: row, _DETAILS)
            return Page(tuple(self._details_from_rows(connection, page.items)), page.next)

    def add_trial(self, trial: Trial) -> None:
        """Durable on return. If it is the best, the earlier trials of its run no longer are."""
        with self._database.writing() as connection:
            run = find_run(connection, trial.run_id)
            if run.kind != self.kind:
                raise BadValue(f"Run {run.id} has no trials", why=f"it is of a {run.kind}")
            require_in_project(connection, run.project_id, model=trial.model_id)
            if trial.is_best:
                others = update(TRIALS).where(TRIALS.c.run_id == trial.run_id)
                connection.execute(others.values(is_best=False))
            connection.execute(
                insert(TRIALS).values(encode(trial) | {"created_at": trial.created_at})
            )
            payload = {"id": run.of_id, "run_id": run.id, "trial": trial.number}
            add_event(connection, "optimization.trial", run.project_id, payload, self._clock())

    def trials(self, run_id: RunId) -> tuple[Trial, ...]:
        query = select(TRIALS).where(TRIALS.c.run_id == run_id).order_by(TRIALS.c.number)
        return tuple(dataclass_from_row(Trial, row) for row in self._fetch_all(query))

    def read_best_trials(self, numbers: list[OptimizationId]) -> dict[OptimizationId, Trial]:
        """The best trial of the latest run of each, where there is one; in one query."""
        query = _select_best_trials(select(TRIALS, RUNNABLES.c.number.label("of_id")), numbers)
        return {
            OptimizationId(row.of_id): dataclass_from_row(Trial, row)
            for row in self._fetch_all(query)
        }

    def _details_from_rows(
        self, connection: Connection, rows: Sequence[Any]
    ) -> list[OptimizationDetails]:
        numbers = [row.id for row in rows]
        made, pins = (
            _best_model_by_optimization(connection, numbers),
            _pins_by_optimization(connection, numbers),
        )
        return [
            OptimizationDetails(
                optimization=self._from_row(row),
                dataset_name=row.dataset_name,
                latest=latest_run_from_row(row),
                made=made.get(row.id),
                pins=pins.get(row.id, {}),
            )
            for row in rows
        ]


def _select_best_trials(query: Any, numbers: Sequence[int]) -> Any:
    """Only the best trial of every run; that of the latest run comes last."""
    return (
        query.join(RUNS, RUNS.c.id == TRIALS.c.run_id)
        .join(RUNNABLES, RUNNABLES.c.id == RUNS.c.runnable_id)
        .where(is_of_kind_sql("optimization"), RUNNABLES.c.number.in_(numbers), TRIALS.c.is_best)
        .order_by(RUNS.c.id)
    )


def _best_model_by_optimization(connection: Connection, numbers: list[int]) -> dict[int, Model]:
    """The best model of the latest run of each, where there is one."""
    models = select(MODELS, RUNNABLES.c.number.label("made_by"))
    query = _select_best_trials(models.join(TRIALS, TRIALS.c.model_id == MODELS.c.id), numbers)
    return {row.made_by: model_from_row(row) for row in connection.execute(query)}


def _pins_by_optimization(
    connection: Connection, numbers: list[int]
) -> dict[int, dict[PinKind, BenchmarkId]]:
    pins: dict[int, dict[PinKind, BenchmarkId]] = {}
    for pin in read_pins_of_optimizations(connection, numbers):
        pins.setdefault(pin.optimization_id, {})[pin.kind] = pin.benchmark_id
    return pins
