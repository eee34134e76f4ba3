"""Profiles and the rows of their runs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sqlalchemy import Connection, bindparam, case, delete, func, insert, select

from modeldyno.core.codec import encode
from modeldyno.core.errors import BadValue
from modeldyno.core.ids import ProfileId, RunId
from modeldyno.core.profiles import (
    Agreement,
    NewProfile,
    OpTypeRow,
    Profile,
    ProfileRow,
    ProfileRowsQuery,
)
from modeldyno.store.records.rows import dataclass_from_row, find_row
from modeldyno.store.runnables import RunnableRecords
from modeldyno.store.state_changes import find_run
from modeldyno.store.tables import PROFILE_ROWS, RUNS


def _sum_if_all_known(column: Any) -> Any:
    """The sum; null unless every row has a value."""
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
    _sum_if_all_known(PROFILE_ROWS.c.flop).label("flop"),
    _sum_if_all_known(PROFILE_ROWS.c.moved_bytes).label("moved_bytes"),
).group_by(PROFILE_ROWS.c.op_type)
_ORDERS: dict[str, tuple[Any, Any, Any]] = {  # time, place in the graph, name
    "node": (PROFILE_ROWS.c.total_s, PROFILE_ROWS.c.number, PROFILE_ROWS.c.node),
    "op": (_TOTAL, func.min(PROFILE_ROWS.c.number), PROFILE_ROWS.c.op_type),
}


class ProfileRecords(RunnableRecords[NewProfile, Profile]):
    kind = "profile"

    def add_rows(self, run_id: RunId, rows: Iterable[ProfileRow]) -> None:
        """All rows of a run at once; they replace those from before it was resumed."""
        values = [encode(row) for row in rows]
        with self._database.writing() as connection:
            run = find_run(connection, run_id)
            if run.kind != "profile" or any(row["run_id"] != run_id for row in values):
                raise BadValue(f"Run {run_id} is not the one that was profiled")
            add_profile_rows(connection, run_id, values)

    def rows(self, run_id: RunId) -> tuple[ProfileRow, ...]:
        """Node by node, in the order of the graph."""
        query = _BY_NODE.where(PROFILE_ROWS.c.run_id == run_id).order_by(PROFILE_ROWS.c.number)
        return tuple(dataclass_from_row(ProfileRow, row) for row in self._fetch_all(query))

    def sum_rows_by_op_type(self, run_id: RunId) -> tuple[OpTypeRow, ...]:
        """The slowest first."""
        rows = self.read_page_of_rows(run_id, ProfileRowsQuery(by="op"))
        return tuple(row for row in rows if isinstance(row, OpTypeRow))

    def read_page_of_rows(
        self, run_id: RunId, rows_query: ProfileRowsQuery
    ) -> tuple[ProfileRow, ...] | tuple[OpTypeRow, ...]:
        """Sorted and cut in the database."""
        by_node = rows_query.by == "node"
        query: Any = _BY_NODE if by_node else _BY_OP
        total, first, name = _ORDERS[rows_query.by]
        order = {"time": (total.desc(), first), "graph": (first,), "name": (name, first)}
        query = query.where(PROFILE_ROWS.c.run_id == run_id).order_by(*order[rows_query.sort])
        query = query.offset(rows_query.start).limit(rows_query.limit)
        rows = self._fetch_all(query)
        if by_node:
            return tuple(dataclass_from_row(ProfileRow, row) for row in rows)
        return tuple(dataclass_from_row(OpTypeRow, row) for row in rows)

    def agreement(self, number: ProfileId) -> Agreement | None:
        """Of its newest run that has rows; None if there is none. Raises NotFound."""
        query = (
            select(
                RUNS.c.id.label("run_id"),
                RUNS.c.typical_s.label("latency_s"),
                func.count().label("nodes"),
                func.sum(PROFILE_ROWS.c.total_s).label("sum_s"),
            )
            .join(PROFILE_ROWS, PROFILE_ROWS.c.run_id == RUNS.c.id)
            .where(RUNS.c.runnable_id == bindparam("runnable"))
            .group_by(RUNS.c.id, RUNS.c.typical_s, RUNS.c.created_at)
            .order_by(RUNS.c.created_at.desc(), RUNS.c.id.desc())
            .limit(1)
        )
        with self._database.reading() as connection:
            profile = find_row(connection, self.kind, number)
            row = connection.execute(query, {"runnable": profile.runnable_id}).one_or_none()
        return None if row is None else dataclass_from_row(Agreement, row)


def add_profile_rows(connection: Connection, run_id: RunId, values: list[dict[str, Any]]) -> None:
    connection.execute(delete(PROFILE_ROWS).where(PROFILE_ROWS.c.run_id == run_id))
    if values:
        connection.execute(insert(PROFILE_ROWS), values)
