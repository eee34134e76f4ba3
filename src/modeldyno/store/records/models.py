"""Models of projects: where they came from, what is in them, and who trusts them."""

from __future__ import annotations

from typing import Any, ClassVar

from sqlalchemy import or_, select, update

from modeldyno.core.codec import decode, encode
from modeldyno.core.ids import ModelId, ProjectId
from modeldyno.core.models import Boundary, Model, ModelFacts, NewModel
from modeldyno.store.pages import Sorting
from modeldyno.store.records.events import add_events
from modeldyno.store.records.named import NamedRecords
from modeldyno.store.records.rows import dataclass_from_row
from modeldyno.store.tables import MODELS

_MADE_HERE = ("optimization", "conversion")


class ModelRecords(NamedRecords[Model]):
    kind = "model"
    sortings: ClassVar = {
        "created": Sorting(MODELS.c.created_at),
        "name": Sorting(MODELS.c.name_key),
        "size": Sorting(MODELS.c.size_bytes, is_nullable=True),
    }

    def add(self, new: NewModel) -> Model:
        return self._insert(encode(new) | {"trusted_at": None, "trust_reason": ""})

    def find_by_content(self, project_id: ProjectId, sha256: str) -> Model | None:
        """The oldest model of the project with this content."""
        return self._find_oldest(MODELS.c.project_id == project_id, MODELS.c.sha256 == sha256)

    def find_inspected_by_content(self, sha256: str) -> Model | None:
        """The oldest inspected model of any project with this content."""
        return self._find_oldest(MODELS.c.sha256 == sha256, MODELS.c.facts.is_not(None))

    def find_by_name_and_path(self, project_id: ProjectId, name: str, path: str) -> Model | None:
        """The oldest model of the project with this name and path."""
        return self._find_oldest(
            MODELS.c.project_id == project_id, MODELS.c.name == name, MODELS.c.path == path
        )

    def find_by_name(self, name: str, most: int = 100) -> tuple[Model, ...]:
        """Inspected models of all projects with this name, with or without a suffix; newest first.

        Models of the terminal are left out: their files may be anywhere.
        """
        query = select(MODELS).where(
            or_(MODELS.c.name == name, MODELS.c.name.startswith(f"{name}.", autoescape=True)),
            MODELS.c.origin != "terminal",
            MODELS.c.facts.is_not(None),
        )
        models = map(
            model_from_row, self._fetch_all(query.order_by(MODELS.c.id.desc()).limit(most))
        )
        # LIKE ignores case in SQLite: compare again
        return tuple(m for m in models if name in (m.name, m.name.rpartition(".")[0]))

    def find_first_input(self, project_id: ProjectId) -> Model | None:
        """The project's first model that was not made from another."""
        return self._find_oldest(
            MODELS.c.project_id == project_id, MODELS.c.origin.not_in(_MADE_HERE)
        )

    def find_newest_at_path(self, path: str) -> Model | None:
        """The newest inspected model that is read from this path."""
        return self._find_newest_inspected(MODELS.c.path == path)

    def find_newest_copied_from(self, path: str) -> Model | None:
        """The newest inspected model that was copied from this path."""
        return self._find_newest_inspected(MODELS.c.source == path, MODELS.c.origin == "path")

    def places(self) -> dict[ModelId, str]:
        """The path that each model is read from."""
        return {
            ModelId(row.id): row.path for row in self._fetch_all(select(MODELS.c.id, MODELS.c.path))
        }

    def set_facts(self, number: ModelId, facts: ModelFacts) -> Model:
        """What a worker read in the file, and where the file is."""
        return self._update(number, facts_to_columns(facts) | {"path": facts.path})

    def trust(self, sha256: str, reason: str = "") -> int:
        """Trust every model with this content; returns how many there are."""
        return self._set_trust(sha256, {"trusted_at": self._clock(), "trust_reason": reason})

    def distrust(self, sha256: str) -> int:
        return self._set_trust(sha256, {"trusted_at": None, "trust_reason": ""})

    def _from_row(self, row: Any) -> Model:
        return model_from_row(row)

    def _find_oldest(self, *conditions: Any) -> Model | None:
        row = self._fetch_first(select(MODELS).where(*conditions).order_by(MODELS.c.id))
        return model_from_row(row) if row else None

    def _find_newest_inspected(self, *conditions: Any) -> Model | None:
        query = select(MODELS).where(*conditions, MODELS.c.facts.is_not(None))
        row = self._fetch_first(query.order_by(MODELS.c.id.desc()))
        return model_from_row(row) if row else None

    def _set_trust(self, sha256: str, values: dict[str, Any]) -> int:
        query = update(MODELS).where(MODELS.c.sha256 == sha256).values(values)
        with self._database.writing() as connection:
            rows = connection.execute(query.returning(MODELS.c.id, MODELS.c.project_id)).all()
            changes = [(row.project_id, {"id": row.id}) for row in rows]
            add_events(connection, "model.changed", changes, self._clock())
            return len(rows)


def facts_to_columns(facts: ModelFacts) -> dict[str, Any]:
    names = ("format", "sha256", "size_bytes", "framework")
    return {"facts": encode(facts)} | {name: getattr(facts, name) for name in names}


def model_from_row(row: Any) -> Model:
    facts, boundary = decode(ModelFacts | None, row.facts), decode(Boundary | None, row.boundary)
    return dataclass_from_row(Model, row, facts=facts, boundary=boundary)
