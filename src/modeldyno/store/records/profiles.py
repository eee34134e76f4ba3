"""Profiles and the rows of their runs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from sqlalchemy import Connection, bindparam, case, delete, func, insert, select

from modeldyno.core.codec import encode
from modeldyno.core.errors import BadValue
from modeldyno.core.ids import DatasetId, ProfileId, ProjectId, RunId
from modeldyno.core.pages import Page, Wanted
from modeldyno.core.profiles import (
    Agreement,
    NewProfile,
    OpTypeRow,
    Profile,
    ProfileDetails,
    ProfileRow,
    RowsWanted,
    spec_of,
)
from modeldyno.core.summaries import summarise_spec
from modeldyno.store import runnables
from modeldyno.store.database import Database
from modeldyno.store.deleting import delete_thing
from modeldyno.store.latest_runs import latest_run_of, with_latest_run
from modeldyno.store.moves import find_run
from modeldyno.store.records.finding import (
    Clock,
    expect_in_project,
    find,
    not_found,
    summary_of,
    utc_now,
    value_of,
)
from modeldyno.store.tables import MODELS, PROFILE_ROWS, PROFILES, RUNS

_WITH_LATEST = with_latest_run(
    select(*PROFILES.c, MODELS.c.name.label("model_name")).join(
        MODELS, MODELS.c.id == PROFILES.c.model_id
    ),
    "profile",
)
_DETAILS = _WITH_LATEST.where(PROFILES.c.id == bindparam("number"))
_ALL_DETAILS = _WITH_LATEST.where(PROFILES.c.project_id == bindparam("project_id")).order_by(
    PROFILES.c.id
)


def _of_all(column: Any) -> Any:
    """The sum; null unless every row has one."""
    return case((func.count(column) == func.count(), func.sum(column)))


_TOTAL = func.sum(PROFILE_ROWS.c.total_s)
_BY_NODE = select(PROFILE_ROWS)
_BY_OP = select(
    PROFILE_ROWS.c.op_type,
    func.count().label("nodes"),
    _TOTAL.label("total_s"),
    func.sum(PROFILE_ROWS.c.cpu_s).label("cpu_s"),
    func.sum(PROFILE_ROWS.c.accelerator_s).label("accelerator_s"),
    func.sum(PROFILE_ROWS.c.calls).label("calls"),
    func.sum(PROFILE_ROWS.c.defined).label("defined"),
    _of_all(PROFILE_ROWS.c.flop).label("flop"),
    _of_all(PROFILE_ROWS.c.moved_bytes).label("moved_bytes"),
).group_by(PROFILE_ROWS.c.op_type)
_ORDERS: dict[str, tuple[Any, Any, Any]] = {  # time, place in the graph, name
    "node": (PROFILE_ROWS.c.total_s, PROFILE_ROWS.c.number, PROFILE_ROWS.c.node),
    "op": (_TOTAL, func.min(PROFILE_ROWS.c.number), PROFILE_ROWS.c.op_type),
}


class Profiles:
    def __init__(self, database: Database, clock: Clock = utc_now) -> None:
        self._database = database
        self._clock = clock

    def add(self, new: NewProfile) -> Profile:
        with self._database.writing() as connection:
            number = add_profile(connection, new, self._clock)
            return _profile(find(connection, "profile", number))

    def get(self, number: ProfileId) -> Profile:
        with self._database.reading() as connection:
            return _profile(find(connection, "profile", number))

    def details(self, number: ProfileId) -> ProfileDetails:
        """All that a page about it shows, but for its rows."""
        with self._database.reading() as connection:
            row = connection.execute(_DETAILS, {"number": number}).one_or_none()
        if row is None:
            raise not_found("profile", number)
        return _details(row)

    def all_details(self, project_id: ProjectId) -> list[ProfileDetails]:
        """All of a project, oldest first, in one query however many there are."""
        with self._database.reading() as connection:
            rows = connection.execute(_ALL_DETAILS, {"project_id": project_id})
            return [_details(row) for row in rows]

    def edit(
        self,
        number: ProfileId,
        *,
        name: str | None = None,
        dataset_id: DatasetId | None = None,
        settings: dict[str, Any] | None = None,
    ) -> Profile:
        """What is not given stays, single settings included; raises WrongState once it has run."""
        values: dict[str, Any] = {"name": name, "dataset_id": dataset_id, "settings": settings}
        if settings is not None:
            values |= _summary(settings)
        with self._database.writing() as connection:
            runnables.edit(connection, "profile", number, values, self._clock())
            return _profile(find(connection, "profile", number))

    def page(self, wanted: Wanted | None = None) -> Page[Profile]:
        with self._database.reading() as connection:
            return runnables.page(connection, "profile", wanted or Wanted(), _profile)

    def add_rows(self, run_id: RunId, rows: Iterable[ProfileRow]) -> None:
        """All rows of a run at once, instead of those of the part before, if it goes on."""
        values = [encode(row) for row in rows]
        with self._database.writing() as connection:
            run = find_run(connection, run_id)
            if run.kind != "profile" or any(row["run_id"] != run_id for row in values):
                raise BadValue(f"Run {run_id} is not the one that was profiled")
            add_profile_rows(connection, run_id, values)

    def rows(self, run_id: RunId) -> tuple[ProfileRow, ...]:
        """Node by node, in the order of the graph."""
        mine = PROFILE_ROWS.c.run_id == run_id
        query = select(PROFILE_ROWS).where(mine).order_by(PROFILE_ROWS.c.number)
        with self._database.reading() as connection:
            return tuple(value_of(ProfileRow, row) for row in connection.execute(query))

    def by_op_type(self, run_id: RunId) -> tuple[OpTypeRow, ...]:
        """The slowest first."""
        found = self.some_rows(run_id, RowsWanted(by="op"))
        return tuple(row for row in found if isinstance(row, OpTypeRow))

    def some_rows(
        self, run_id: RunId, wanted: RowsWanted
    ) -> tuple[ProfileRow, ...] | tuple[OpTypeRow, ...]:
        """Sorted and cut in the database."""
        by_node = wanted.by == "node"
        query: Any = _BY_NODE if by_node else _BY_OP
        total, first, name = _ORDERS[wanted.by]
        order = {"time": (total.desc(), first), "graph": (first,), "name": (name, first)}
        query = query.where(PROFILE_ROWS.c.run_id == run_id).order_by(*order[wanted.sort])
        query = query.offset(wanted.start).limit(wanted.limit)
        with self._database.reading() as connection:
            found = connection.execute(query).all()
        if by_node:
            return tuple(value_of(ProfileRow, row) for row in found)
        return tuple(value_of(OpTypeRow, row) for row in found)

    def agreement(self, number: ProfileId) -> Agreement | None:
        """Of the newest run of it that has rows; None before there is one. Raises NotFound."""
        query = (
            select(
                RUNS.c.id.label("run_id"),
                RUNS.c.typical_s.label("latency_s"),
                func.count().label("nodes"),
                func.sum(PROFILE_ROWS.c.total_s).label("sum_s"),
            )
            .join(PROFILE_ROWS, PROFILE_ROWS.c.run_id == RUNS.c.id)
            .where(RUNS.c.profile_id == number)
            .group_by(RUNS.c.id, RUNS.c.typical_s, RUNS.c.created_at)
            .order_by(RUNS.c.created_at.desc(), RUNS.c.id.desc())
            .limit(1)
        )
        with self._database.reading() as connection:
            find(connection, "profile", number)
            row = connection.execute(query).one_or_none()
        return None if row is None else value_of(Agreement, row)

    def delete(self, number: ProfileId, *, cascade: bool = False) -> None:
        with self._database.writing() as connection:
            delete_thing(connection, "profile", number, self._clock(), cascade=cascade)


def add_profile(connection: Connection, new: NewProfile, clock: Clock) -> int:
    expect_in_project(connection, new.project_id, model=new.model_id, dataset=new.dataset_id)
    values = encode(new) | _summary(new.settings)
    return runnables.add(connection, "profile", new.project_id, new.name, values, clock())


def add_profile_rows(connection: Connection, run_id: RunId, values: list[dict[str, Any]]) -> None:
    connection.execute(delete(PROFILE_ROWS).where(PROFILE_ROWS.c.run_id == run_id))
    if values:
        connection.execute(insert(PROFILE_ROWS), values)


def _summary(settings: dict[str, Any]) -> dict[str, Any]:
    """What lists show of it before its first run."""
    spec = spec_of(settings)
    return asdict(summarise_spec(spec)) if spec else {}


def _details(row: Any) -> ProfileDetails:
    return ProfileDetails(_profile(row), row.model_name, latest_run_of(row))


def _profile(row: Any) -> Profile:
    return value_of(Profile, row, summary=summary_of(row))
