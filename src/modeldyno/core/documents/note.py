"""What people wrote about something."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from modeldyno.core.documents.described import Count, Described, Size
from modeldyno.core.notes import Note, SubjectKind


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
