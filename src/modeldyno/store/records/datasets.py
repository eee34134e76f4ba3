"""Datasets of projects."""

from __future__ import annotations

from typing import Any, ClassVar

from sqlalchemy import update

from modeldyno.core.codec import encode
from modeldyno.core.datasets import Dataset, NewDataset
from modeldyno.core.ids import DatasetId
from modeldyno.store.pages import Sorting
from modeldyno.store.records.named import NamedRecords
from modeldyno.store.records.rows import dataclass_from_row, find_row
from modeldyno.store.tables import DATASETS


class DatasetRecords(NamedRecords[Dataset]):
    kind = "dataset"
    sortings: ClassVar = {
        "created": Sorting(DATASETS.c.created_at),
        "name": Sorting(DATASETS.c.name_key),
    }

    def add(self, new: NewDataset) -> Dataset:
        return self._insert(encode(new))

    def set_template(self, number: DatasetId, path: str) -> Dataset:
        """Set where its code is, once its number is known; no event, since nobody has heard of the
        dataset yet."""
        changed = update(DATASETS).where(DATASETS.c.id == number).values(template_path=path)
        with self._database.writing() as connection:
            connection.execute(changed)
            return self._from_row(find_row(connection, "dataset", number))

    def _from_row(self, row: Any) -> Dataset:
        return dataclass_from_row(Dataset, row, transforms=tuple(row.transforms))
