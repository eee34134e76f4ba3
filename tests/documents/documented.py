"""What a document says of an operation: read from the document itself, or from our own table."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SEEDS = "MODELDYNO_SEEDS"  # the folder that holds the documents


@dataclass(frozen=True)
class Said:
    """One event, as it is pushed: ``data`` without its envelope."""

    name: str
    data: Any
    status: str = "success"


@dataclass(frozen=True)
class Documented:
    """Values in ``body``, ``answer`` and events are examples, or types (``int``, ``str`` …).

    ``parameters`` says of each, by its dotted name, whether it is required. ``answer`` is text,
    or bytes, when the operation answers with a file.
    """

    path: str
    method: str = "GET"
    parameters: tuple[tuple[str, bool], ...] = ()
    body: Any = None
    query: str = ""
    answer: Any = None
    events: tuple[Said, ...] = ()

    @property
    def required(self) -> list[str]:
        return [name for name, is_required in self.parameters if is_required]


def document(name: str) -> Path | None:
    """The documents are no part of this repository; they lie beside a clone, or nowhere."""
    beside = Path(__file__).parents[3] / "shared" / "seeds"
    found = Path(os.environ.get(SEEDS) or beside) / name
    return found if found.is_file() else None


def absence(name: str) -> str:
    return (
        f"THE DOCUMENT {name} IS NOT HERE, so nothing was compared with it (our own table still "
        f"was): say in {SEEDS} which folder holds it"
    )
