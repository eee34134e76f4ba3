"""Notes: one for each thing. Each change raises its version, so nobody overwrites text unread."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, insert, select, update

from modeldyno.core.errors import EditedMeanwhile
from modeldyno.core.names import checked_text
from modeldyno.core.notes import Note, Subject
from modeldyno.store.records.events import add_event
from modeldyno.store.records.rows import Repository, dataclass_from_row, find_row
from modeldyno.store.tables import NOTES, THINGS


class NoteRecords(Repository):
    def get(self, subject: Subject) -> Note:
        """An empty note of version 0 if there is none; raises NotFound."""
        with self._database.reading() as connection:
            return self._read_or_empty(connection, subject)

    def write(self, subject: Subject, text: str, version: int | None = None) -> Note:
        """Raises EditedMeanwhile unless ``version`` is the current one or None."""
        text = checked_text(text)
        now = self._clock()
        with self._database.writing() as connection:
            before = self._read_or_empty(connection, subject)
            if version is not None and version != before.version:
                raise EditedMeanwhile(
                    f"The note of {subject.kind} {subject.id} was changed meanwhile",
                    why=f"you changed version {version}, and there is {before.version} now",
                    fix="Read it again, then change that",
                )
            row = find_row(connection, subject.kind, subject.id)
            column, key = _owner_of_subject(subject, row)
            values = {"text": text, "version": before.version + 1, "modified_at": now}
            if before.version:
                connection.execute(update(NOTES).where(NOTES.c[column] == key).values(values))
            else:
                connection.execute(insert(NOTES).values(values | {column: key}))
            project = subject.id if subject.kind == "project" else row.project_id
            payload = {"kind": subject.kind, "id": subject.id, "version": before.version + 1}
            add_event(connection, "note.changed", project, payload, now)
            return self._read_or_empty(connection, subject)

    def _read_or_empty(self, connection: Connection, subject: Subject) -> Note:
        column, key = _owner_of_subject(subject, find_row(connection, subject.kind, subject.id))
        columns = (NOTES.c.text, NOTES.c.version, NOTES.c.modified_at)
        row = connection.execute(select(*columns).where(NOTES.c[column] == key)).one_or_none()
        return dataclass_from_row(Note, row, subject=subject) if row else Note(subject=subject)


def _owner_of_subject(subject: Subject, row: Any) -> tuple[str, int]:
    """The column that refers to the note's owner, and its value."""
    if subject.kind in THINGS:
        return f"{subject.kind}_id", row.id
    return "runnable_id", row.runnable_id
