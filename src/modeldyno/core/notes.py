"""Notes on anything; numbered, so that nobody overwrites a version they have not read."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Literal

from modeldyno.core.documents.described import Count, Described, KindSchema, Size
from modeldyno.core.errors import BadValue

_NOUNS = ("project", "model", "dataset")
SubjectKind = Annotated[str, KindSchema(*_NOUNS)]  # or a kind of runs
_LONGEST = 9  # digits of a number


@dataclass(frozen=True)
class Subject:
    kind: SubjectKind
    id: int


@dataclass(frozen=True, kw_only=True)
class Note:
    subject: Subject
    text: str = ""
    version: int = 0  # 0: never written
    modified_at: datetime | None = None


def subject_kinds() -> tuple[SubjectKind, ...]:
    """Everything that can have notes."""
    from modeldyno.core.kinds import kept_kinds

    return (*_NOUNS, *kept_kinds())


def subject_of(word: str) -> Subject | None:
    """The subject ``benchmark/12``; None for a word without a slash, which may be the id of a run.

    Raises BadValue for any other pair.
    """
    kind, slash, number = word.partition("/")
    kinds = subject_kinds()
    is_number = number.isascii() and number.isdecimal() and len(number) <= _LONGEST
    if is_number and kind in kinds:
        return Subject(kind, int(number))
    if slash:
        raise BadValue(
            f"There are no notes on {word!r}",
            fix=f"Name a run, or {', '.join(kinds[:-1])} or {kinds[-1]} "
            "with its number: benchmark/12",
        )
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteDocument(Described):
    """What `modeldyno note --json` gives, and `/note` of whatever people write about."""

    schema: Literal["modeldyno.note/1"] = "modeldyno.note/1"
    """Name and version of this format."""
    kind: SubjectKind
    """What the note is about."""
    id: Size
    """Its number."""
    text: str
    """The note; empty when nobody wrote one."""
    version: Count
    """Grows with every change; 0: never written."""
    modified_at: datetime | None
    """When it was changed last, in UTC."""

    @classmethod
    def of(cls, note: Note) -> NoteDocument:
        return cls.from_fields(note, kind=note.subject.kind, id=note.subject.id)
