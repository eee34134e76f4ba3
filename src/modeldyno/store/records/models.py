"""Models of projects: where they came from, what is in them, and who vouched for them."""

from __future__ import annotations

from typing import Any

from sqlalchemy import insert, or_, select, update

from modeldyno.core.codec import decode, encode
from modeldyno.core.ids import ModelId, ProjectId
from modeldyno.core.models import Boundary, Model, ModelFacts, NewModel
from modeldyno.core.names import checked_name, search_key
from modeldyno.core.runs import Page, Wanted
from modeldyno.store.database import Database
from modeldyno.store.deleting import delete_thing
from modeldyno.store.pages import Sorting, of_project, page_of, refuse
from modeldyno.store.records.events import add_event, add_events
from modeldyno.store.records.rows import (
    Clock,
    find_row,
    require_in_project,
    utc_now,
    value_of,
)
from modeldyno.store.tables import MODELS

_SORTINGS = {
    "created": Sorting(MODELS.c.created_at),
    "name": Sorting(MODELS.c.name_key),
    "size": Sorting(MODELS.c.size_bytes, is_nullable=True),
}
_LIST = select(MODELS)


class ModelRecords:
    def __init__(self, database: Database, clock: Clock = utc_now) -> None:
        self._database = database
        self._clock = clock

    def add(self, new: NewModel) -> Model:
        now = self._clock()
        name = checked_name(new.name)
        row = encode(new) | {"name": name, "name_key": search_key(name), "created_at": now}
        with self._database.writing() as connection:
            require_in_project(connection, new.project_id)
            row |= {"trusted_at": None, "trust_reason": ""}
            number = connection.scalar(insert(MODELS).values(row).returning(MODELS.c.id)) or 0
            add_event(connection, "model.created", new.project_id, {"id": number}, now)
            return model_of(find_row(connection, "model", number))

    def get(self, number: ModelId) -> Model:
        with self._database.reading() as connection:
            return model_of(find_row(connection, "model", number))

    def of_content(self, project_id: ProjectId, sha256: str) -> Model | None:
        """The first one of a project with this content."""
        query = select(MODELS).where(MODELS.c.project_id == project_id, MODELS.c.sha256 == sha256)
        with self._database.reading() as connection:
            row = connection.execute(query.order_by(MODELS.c.id).limit(1)).one_or_none()
        return model_of(row) if row else None

    def with_content(self, sha256: str) -> Model | None:
        """The first one of any project that was looked into."""
        query = select(MODELS).where(MODELS.c.sha256 == sha256, MODELS.c.facts.is_not(None))
        with self._database.reading() as connection:
            row = connection.execute(query.order_by(MODELS.c.id).limit(1)).one_or_none()
        return model_of(row) if row else None

    def at(self, project_id: ProjectId, name: str, path: str) -> Model | None:
        """The first one of a project with that name that is read from there."""
        query = select(MODELS).where(
            MODELS.c.project_id == project_id, MODELS.c.name == name, MODELS.c.path == path
        )
        with self._database.reading() as connection:
            row = connection.execute(query.order_by(MODELS.c.id).limit(1)).one_or_none()
        return model_of(row) if row else None

    def called(self, name: str, most: int = 100) -> tuple[Model, ...]:
        """Those of all projects with exactly that name, or that name and a suffix; newest first.
        Files of the terminal are left out: they lie where somebody put them."""
        query = select(MODELS).where(
            or_(MODELS.c.name == name, MODELS.c.name.startswith(f"{name}.", autoescape=True)),
            MODELS.c.origin != "terminal",
            MODELS.c.facts.is_not(None),
        )
        with self._database.reading() as connection:
            rows = connection.execute(query.order_by(MODELS.c.id.desc()).limit(most)).all()
        found = tuple(model_of(row) for row in rows)  # LIKE of SQLite cares for no case: look again
        return tuple(m for m in found if name in (m.name, m.name.rpartition(".")[0]))

    def input_of(self, project_id: ProjectId) -> Model | None:
        """The one that a project began with: its first that was not made of another."""
        query = select(MODELS).where(
            MODELS.c.project_id == project_id,
            MODELS.c.origin.not_in(("optimization", "conversion")),
        )
        with self._database.reading() as connection:
            row = connection.execute(query.order_by(MODELS.c.id).limit(1)).one_or_none()
        return model_of(row) if row else None

    def kept_at(self, path: str) -> Model | None:
        """The newest that is read from there."""
        return self._newest(MODELS.c.path == path)

    def copied_from(self, path: str) -> Model | None:
        """The newest of a file that a client called so."""
        return self._newest(MODELS.c.source == path, MODELS.c.origin == "path")

    def places(self) -> dict[ModelId, str]:
        """Where each model is read from."""
        with self._database.reading() as connection:
            rows = connection.execute(select(MODELS.c.id, MODELS.c.path)).all()
        return {ModelId(row.id): row.path for row in rows}

    def set_facts(self, number: ModelId, facts: ModelFacts) -> Model:
        """What a worker found when it looked into the file, and where that lies."""
        values = {
            "path": facts.path,
            "facts": encode(facts),
            "format": facts.format,
            "sha256": facts.sha256,
            "size_bytes": facts.size_bytes,
            "framework": facts.framework,
        }
        return self._change(number, values)

    def rename(self, number: ModelId, name: str) -> Model:
        name = checked_name(name)
        return self._change(number, {"name": name, "name_key": search_key(name)})

    def trust(self, sha256: str, reason: str = "") -> int:
        """Somebody vouched for a content: for every model that has it; how many that are."""
        return self._vouch(sha256, {"trusted_at": self._clock(), "trust_reason": reason})

    def distrust(self, sha256: str) -> int:
        return self._vouch(sha256, {"trusted_at": None, "trust_reason": ""})

    def page(self, wanted: Wanted | None = None) -> Page[Model]:
        wanted = wanted or Wanted()
        refuse(wanted, "engine", "state")
        query = of_project(_LIST, wanted, MODELS)
        with self._database.reading() as connection:
            return page_of(
                connection, query, wanted, _SORTINGS, MODELS.c.id, model_of, is_constant=True
            )

    def delete(self, number: ModelId, *, cascade: bool = False) -> None:
        with self._database.writing() as connection:
            delete_thing(connection, "model", number, self._clock(), cascade=cascade)

    def _newest(self, *conditions: Any) -> Model | None:
        query = select(MODELS).where(*conditions, MODELS.c.facts.is_not(None))
        with self._database.reading() as connection:
            row = connection.execute(query.order_by(MODELS.c.id.desc()).limit(1)).one_or_none()
        return model_of(row) if row else None

    def _change(self, number: ModelId, values: dict[str, Any]) -> Model:
        with self._database.writing() as connection:
            row = find_row(connection, "model", number)
            connection.execute(update(MODELS).where(MODELS.c.id == number).values(values))
            add_event(connection, "model.changed", row.project_id, {"id": number}, self._clock())
            return model_of(find_row(connection, "model", number))

    def _vouch(self, sha256: str, values: dict[str, Any]) -> int:
        now = self._clock()
        with self._database.writing() as connection:
            changed = connection.execute(
                update(MODELS)
                .where(MODELS.c.sha256 == sha256)
                .values(values)
                .returning(MODELS.c.id, MODELS.c.project_id)
            ).all()
            told = [(row.project_id, {"id": row.id}) for row in changed]
            add_events(connection, "model.changed", told, now)
            return len(changed)


def model_of(row: Any) -> Model:
    facts, boundary = decode(ModelFacts | None, row.facts), decode(Boundary | None, row.boundary)
    return value_of(Model, row, facts=facts, boundary=boundary)
