"""What was removed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from modeldyno.core.documents.described import Described


@dataclass(frozen=True, slots=True, kw_only=True)
class RemovedDocument(Described):
    """What `modeldyno rm --json` gives."""

    schema: Literal["modeldyno.removed/1"] = "modeldyno.removed/1"
    """Name and version of this format."""
    removed: tuple[str, ...]
    """Ids of the runs that are gone."""
