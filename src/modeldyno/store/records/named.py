"""Projects, models and datasets: rows with a number and a name, and an event for each change."""

from __future__ import annotations

from typing import Any, ClassVar, Generic, TypeVar

from sqlalchemy import Connection, insert, select, update

from modeldyno.core.runs import ListQuery, Page
from modeldyno.store.deleting import delete_with_dependents
from modeldyno.store.pages import (
    Sorting,
    filter_by_project_name_and_date,
    read_page,
    refuse_filters,
)
from modeldyno.store.records.events import add_event
from modeldyno.store.records.rows import Repository, find_row, name_to_columns, require_in_project
from modeldyno.store.tables import THINGS

V = TypeVar("V")


class NamedRecords(Repository, Generic[V]):
    kind: ClassVar[str]
    sortings: ClassVar[dict[str, Sorting]]

    def get(self, number: int) -> V:
        with self._database.reading() as connection:
            return self._from_row(find_row(connection, self.kind, number))

    def rename(self, number: int, name: str) -> V:
        return self._update(number, name_to_columns(name))

    def page(self, list_query: ListQuery | None = None) -> Page[V]:
        list_query = list_query or ListQuery()
        refuse_filters(list_query, "engine", "state")
        table = THINGS[self.kind]
        query = filter_by_project_name_and_date(_ALL[self.kind], list_query, table)
        with self._database.reading() as connection:
            return read_page(
                connection,
                query,
                list_query,
                self.sortings,
                table.c.id,
                self._from_row,
                is_constant=True,
            )

    def delete(self, number: int, *, cascade: bool = False) -> None:
        with self._database.writing() as connection:
            delete_with_dependents(connection, self.kind, number, self._clock(), cascade=cascade)

    def _from_row(self, row: Any) -> V:
        raise NotImplementedError

    def _insert(self, values: dict[str, Any]) -> V:
        with self._database.writing() as connection:
            if self.kind != "project":
                require_in_project(connection, values["project_id"])
            number = add_named(connection, self.kind, values, self._clock())
            return self._from_row(find_row(connection, self.kind, number))

    def _update(self, number: int, values: dict[str, Any]) -> V:
        table, now = THINGS[self.kind], self._clock()
        if "modified_at" in table.c:
            values = values | {"modified_at": now}
        with self._database.writing() as connection:
            row = find_row(connection, self.kind, number)
            connection.execute(update(table).where(table.c.id == number).values(values))
            project = number if self.kind == "project" else row.project_id
            add_event(connection, f"{self.kind}.changed", project, {"id": number}, now)
            return self._from_row(find_row(connection, self.kind, number))


_ALL = {kind: select(table) for kind, table in THINGS.items()}


def add_named(connection: Connection, kind: str, values: dict[str, Any], now: Any) -> int:
    """The number of the new row. ``values`` are its columns, as encoded; raises BadValue."""
    table = THINGS[kind]
    row = values | name_to_columns(values["name"]) | {"created_at": now}
    number = connection.scalars(insert(table).values(row).returning(table.c.id)).one()
    project = number if kind == "project" else values["project_id"]
    add_event(connection, f"{kind}.created", project, {"id": number}, now)
    return int(number)
