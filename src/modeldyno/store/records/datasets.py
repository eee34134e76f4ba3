"""Datasets of projects."""

from __future__ import annotations

from typing import Any

from sqlalchemy import insert, select, update

from modeldyno.core.codec import encode
from modeldyno.core.datasets import Dataset, NewDataset
from modeldyno.core.ids import DatasetId
from modeldyno.core.names import checked_name, search_key
from modeldyno.core.runs import Page, Wanted
from modeldyno.store.database import Database
from modeldyno.store.deleting import delete_thing
from modeldyno.store.pages import Sorting, of_project, page_of, refuse
from modeldyno.store.records.events import add_event
from modeldyno.store.records.rows import (
    Clock,
    find_row,
    require_in_project,
    utc_now,
    value_of,
)
from modeldyno.store.tables import DATASETS

_SORTINGS = {"created": Sorting(DATASETS.c.created_at), "name": Sorting(DATASETS.c.name_key)}
_LIST = select(DATASETS)


class DatasetRecords:
    def __init__(self, database: Database, clock: Clock = utc_now) -> None:
        self._database = database
        self._clock = clock

    def add(self, new: NewDataset) -> Dataset:
        now = self._clock()
        name = checked_name(new.name)
        row = encode(new) | {"name": name, "name_key": search_key(name), "created_at": now}
        with self._database.writing() as connection:
            require_in_project(connection, new.project_id)
            number = connection.scalar(insert(DATASETS).values(row).returning(DATASETS.c.id)) or 0
            add_event(connection, "dataset.created", new.project_id, {"id": number}, now)
            return _dataset(find_row(connection, "dataset", number))

    def set_template(self, number: DatasetId, path: str) -> Dataset:
        """Where its code lies: known only once it has a number, and before anybody hears of it."""
        with self._database.writing() as connection:
            connection.execute(
                update(DATASETS).where(DATASETS.c.id == number).values(template_path=path)
            )
            return _dataset(find_row(connection, "dataset", number))

    def get(self, number: DatasetId) -> Dataset:
        with self._database.reading() as connection:
            return _dataset(find_row(connection, "dataset", number))

    def page(self, wanted: Wanted | None = None) -> Page[Dataset]:
        wanted = wanted or Wanted()
        refuse(wanted, "engine", "state")
        query = of_project(_LIST, wanted, DATASETS)
        with self._database.reading() as connection:
            return page_of(
                connection, query, wanted, _SORTINGS, DATASETS.c.id, _dataset, is_constant=True
            )

    def delete(self, number: DatasetId, *, cascade: bool = False) -> None:
        with self._database.writing() as connection:
            delete_thing(connection, "dataset", number, self._clock(), cascade=cascade)


def _dataset(row: Any) -> Dataset:
    return value_of(Dataset, row, transforms=tuple(row.transforms))
