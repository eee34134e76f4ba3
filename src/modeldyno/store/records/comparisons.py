"""Comparisons; their runs are in ``runs.py``."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from sqlalchemy import Connection, bindparam, select, tuple_

from modeldyno.core.codec import decode, encode
from modeldyno.core.comparisons import Comparison, ComparisonDetails, NewComparison
from modeldyno.core.ids import ComparisonId, ModelId, RunId
from modeldyno.core.pages import Page, Wanted
from modeldyno.core.specs import ComparisonSpec
from modeldyno.core.summaries import summarise_spec
from modeldyno.store import runnables
from modeldyno.store.database import Database
from modeldyno.store.deleting import delete_thing
from modeldyno.store.latest_runs import latest_run_of, with_latest_run
from modeldyno.store.records.finding import (
    Clock,
    expect_in_project,
    find,
    not_found,
    summary_of,
    utc_now,
    value_of,
)
from modeldyno.store.tables import COMPARISONS, MODELS, RUNS

_A, _B = MODELS.alias(), MODELS.alias()
_DETAILS = with_latest_run(
    select(*COMPARISONS.c, _A.c.name.label("a_name"), _B.c.name.label("b_name"))
    .join(_A, _A.c.id == COMPARISONS.c.a_model_id)
    .join(_B, _B.c.id == COMPARISONS.c.b_model_id),
    "comparison",
).where(COMPARISONS.c.id == bindparam("number"))

_DONE = (
    select(*COMPARISONS.c, RUNS.c.id.label("done_run_id"))
    .join(RUNS, RUNS.c.comparison_id == COMPARISONS.c.id)
    .where(RUNS.c.state == "done")
    .order_by(RUNS.c.created_at.desc(), RUNS.c.id.desc())
)


class Comparisons:
    def __init__(self, database: Database, clock: Clock = utc_now) -> None:
        self._database = database
        self._clock = clock

    def add(self, new: NewComparison) -> Comparison:
        with self._database.writing() as connection:
            number = add_comparison(connection, new, self._clock)
            return _comparison(find(connection, "comparison", number))

    def get(self, number: ComparisonId) -> Comparison:
        with self._database.reading() as connection:
            return _comparison(find(connection, "comparison", number))

    def details(self, number: ComparisonId) -> ComparisonDetails:
        """All that a page about it shows, in one query."""
        with self._database.reading() as connection:
            row = connection.execute(_DETAILS, {"number": number}).one_or_none()
        if row is None:
            raise not_found("comparison", number)
        return ComparisonDetails(_comparison(row), row.a_name, row.b_name, latest_run_of(row))

    def edit(
        self,
        number: ComparisonId,
        *,
        name: str | None = None,
        a_model_id: ModelId | None = None,
        b_model_id: ModelId | None = None,
        spec: ComparisonSpec | None = None,
    ) -> Comparison:
        """What is not given stays; raises WrongState once it has run (a name may change still)."""
        values: dict[str, Any] = {"name": name}
        values |= {"a_model_id": a_model_id, "b_model_id": b_model_id}
        if spec is not None:
            values |= {"spec": encode(spec)} | asdict(summarise_spec(spec))
        with self._database.writing() as connection:
            row = find(connection, "comparison", number)
            expect_in_project(connection, row.project_id, a_model=a_model_id, b_model=b_model_id)
            runnables.edit(connection, "comparison", number, values, self._clock())
            return _comparison(find(connection, "comparison", number))

    def rerun(self, number: ComparisonId) -> Comparison:
        """A new one with the same settings, that knows what it repeats."""
        with self._database.writing() as connection:
            before = _comparison(find(connection, "comparison", number))
            new = NewComparison(
                project_id=before.project_id,
                a_model_id=before.a_model_id,
                b_model_id=before.b_model_id,
                name=before.name,
                spec=before.spec,
                rerun_of=before.id,
            )
            again = add_comparison(connection, new, self._clock)
            return _comparison(find(connection, "comparison", again))

    def page(self, wanted: Wanted | None = None) -> Page[Comparison]:
        with self._database.reading() as connection:
            return runnables.page(connection, "comparison", wanted or Wanted(), _comparison)

    def between(
        self, model_id: ModelId, other_id: ModelId, most: int = 20
    ) -> list[tuple[Comparison, RunId]]:
        """Those of two models that came to a verdict, whichever is A, newest first; with the run
        that did."""
        ways = tuple_(COMPARISONS.c.a_model_id, COMPARISONS.c.b_model_id)
        query = _DONE.where(ways.in_([(model_id, other_id), (other_id, model_id)])).limit(most)
        with self._database.reading() as connection:
            rows = connection.execute(query).all()
        return [(_comparison(row), RunId(row.done_run_id)) for row in rows]

    def delete(self, number: ComparisonId, *, cascade: bool = False) -> None:
        with self._database.writing() as connection:
            delete_thing(connection, "comparison", number, self._clock(), cascade=cascade)


def add_comparison(connection: Connection, new: NewComparison, clock: Clock) -> int:
    expect_in_project(
        connection,
        new.project_id,
        a_model=new.a_model_id,
        b_model=new.b_model_id,
        rerun_of_comparison=new.rerun_of,
    )
    values = encode(new) | asdict(summarise_spec(new.spec))
    return runnables.add(connection, "comparison", new.project_id, new.name, values, clock())


def _comparison(row: Any) -> Comparison:
    spec = decode(ComparisonSpec, row.spec)
    return value_of(Comparison, row, spec=spec, summary=summary_of(row))
