"""Projects."""

from __future__ import annotations

from sqlalchemy import func, insert, select, update

from modeldyno.core.ids import ProjectId
from modeldyno.core.names import checked_name, search_key
from modeldyno.core.pages import Page, Wanted
from modeldyno.core.projects import Project
from modeldyno.store.database import Database
from modeldyno.store.deleting import delete_thing
from modeldyno.store.pages import Sorting, dated, named, page_of, refuse
from modeldyno.store.records.events import tell
from modeldyno.store.records.finding import Clock, find, utc_now, value_of
from modeldyno.store.tables import THINGS
from modeldyno.store.tables import Projects as Rows

_SORTINGS = {"created": Sorting(Rows.created_at), "name": Sorting(Rows.name_key)}
_LIST = select(*Rows.__table__.c)


class Projects:
    def __init__(self, database: Database, clock: Clock = utc_now) -> None:
        self._database = database
        self._clock = clock

    def add(self, name: str) -> Project:
        name = checked_name(name)
        now = self._clock()
        row = {"name": name, "name_key": search_key(name), "created_at": now}
        with self._database.writing() as connection:
            number = connection.scalar(insert(Rows).values(row).returning(Rows.id))
            tell(connection, "project.created", number, {"id": number}, now)
            return value_of(Project, find(connection, "project", number or 0))

    def get(self, number: ProjectId) -> Project:
        with self._database.reading() as connection:
            return value_of(Project, find(connection, "project", number))

    def named(self, name: str) -> Project | None:
        """The first one that is called exactly so."""
        name = checked_name(name)
        query = _LIST.where(Rows.name == name).order_by(Rows.id).limit(1)
        with self._database.reading() as connection:
            row = connection.execute(query).one_or_none()
        return value_of(Project, row) if row else None

    def rename(self, number: ProjectId, name: str) -> Project:
        name = checked_name(name)
        now = self._clock()
        with self._database.writing() as connection:
            find(connection, "project", number)
            values = {"name": name, "name_key": search_key(name), "modified_at": now}
            connection.execute(update(Rows).where(Rows.id == number).values(values))
            tell(connection, "project.changed", number, {"id": number}, now)
            return value_of(Project, find(connection, "project", number))

    def touch(self, number: ProjectId) -> Project:
        """Something that belongs to the project itself was changed just now."""
        now = self._clock()
        with self._database.writing() as connection:
            find(connection, "project", number)
            connection.execute(update(Rows).where(Rows.id == number).values(modified_at=now))
            tell(connection, "project.changed", number, {"id": number}, now)
            return value_of(Project, find(connection, "project", number))

    def page(self, wanted: Wanted | None = None) -> Page[Project]:
        wanted = wanted or Wanted()
        refuse(wanted, "engine", "state", "project_id")
        query = named(dated(_LIST, wanted, Rows.created_at), wanted, Rows.name_key)
        with self._database.reading() as connection:
            return page_of(
                connection, query, wanted, _SORTINGS, Rows.id, lambda row: value_of(Project, row)
            )

    def count(self) -> int:
        with self._database.reading() as connection:
            return connection.scalar(select(func.count()).select_from(Rows)) or 0

    def counts(self, number: ProjectId) -> dict[str, int]:
        """How many of each kind of thing it has, in one query."""
        kinds = [kind for kind in THINGS if kind != "project"]
        columns = []
        for kind in kinds:
            table = THINGS[kind].__table__  # type: ignore[attr-defined]  # every thing is a table
            mine = table.c.project_id == number
            columns.append(select(func.count()).select_from(table).where(mine).scalar_subquery())
        with self._database.reading() as connection:
            found = connection.execute(select(*columns)).one()
        return dict(zip(kinds, found, strict=True))

    def delete(self, number: ProjectId, *, cascade: bool = False) -> None:
        with self._database.writing() as connection:
            delete_thing(connection, "project", number, self._clock(), cascade=cascade)
