"""Datasets as a server keeps them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from modeldyno.core.documents.described import Described, Size


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetDocument(Described):
    """Where samples come from, and what is done to them. Where the code of one lies is left out."""

    id: Size
    """Its number."""
    project_id: Size
    """Number of its project."""
    name: str
    """As people call it."""
    kind: str
    """What reads it: dummy_v2, ImageFolder and so on."""
    parameters: dict[str, Any]
    """What its reader needs."""
    transforms: tuple[dict[str, Any], ...]
    """What is done to each sample, in this order."""
    filter: dict[str, Any] | None
    """Which samples count; null: all."""
    metric: dict[str, Any] | None
    """How answers are judged."""
    created_at: datetime
    """In UTC."""
