"""What people write about a thing; numbered, so that nobody overwrites what they have not read."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, get_args

from modeldyno.core.errors import BadValue

SubjectKind = Literal[
    "project", "model", "dataset", "benchmark", "comparison", "optimization", "profile"
]
SUBJECT_KINDS: tuple[SubjectKind, ...] = get_args(SubjectKind)
_LONGEST = 9  # digits of a number


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


def subject_of(word: str) -> Subject | None:
    """Of ``benchmark/12``; None when it is no such pair, and may be the id of a run.

    Raises BadValue when it is a pair of something else.
    """
    kind, slash, number = word.partition("/")
    is_number = number.isascii() and number.isdecimal() and len(number) <= _LONGEST
    if is_number and kind in SUBJECT_KINDS:
        return Subject(kind, int(number))
    if slash:
        raise BadValue(
            f"There are no notes on {word!r}",
            fix=f"Name a run, or {', '.join(SUBJECT_KINDS[:-1])} or {SUBJECT_KINDS[-1]} "
            "with its number: benchmark/12",
        )
    return None
