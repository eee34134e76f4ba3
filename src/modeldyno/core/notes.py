"""What people write about a thing; numbered, so that nobody overwrites what they have not read."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, get_args

SubjectKind = Literal[
    "project", "model", "dataset", "benchmark", "comparison", "optimization", "profile"
]
SUBJECT_KINDS: tuple[SubjectKind, ...] = get_args(SubjectKind)


@dataclass(frozen=True)
class Subject:
    kind: SubjectKind
    id: int


@dataclass(frozen=True, kw_only=True)
class Note:
    subject: Subject
    text: str = ""
    version: int = 0  # 0: nobody wrote anything yet
    modified_at: datetime | None = None
