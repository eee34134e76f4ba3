"""How rows of runs compare with their folders."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from modeldyno.core.documents.described import Described
from modeldyno.core.ids import RunId


@dataclass(frozen=True, slots=True, kw_only=True)
class ReindexDocument(Described):
    """What `modeldyno reindex --json` prints."""

    schema: Literal["modeldyno.reindex/1"] = "modeldyno.reindex/1"
    """Name and version of this document."""
    is_check: bool
    """Whether rows were only compared."""
    checked: int
    """Folders of runs that there are."""
    missing: tuple[RunId, ...] = ()
    """Ids of runs that had no row."""
    different: tuple[RunId, ...] = ()
    """Ids of runs whose rows had other figures or cells."""
    without_folder: tuple[RunId, ...] = ()
    """Ids of ended runs that only the database has; their rows are left alone."""
    unreadable: tuple[RunId, ...] = ()
    """Ids of runs whose folders cannot be read."""

    @property
    def is_same(self) -> bool:
        return not (self.missing or self.different)
