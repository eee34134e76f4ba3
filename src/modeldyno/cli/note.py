"""``modeldyno note``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from modeldyno.cli import options, output

if TYPE_CHECKING:
    from modeldyno.core.notes import Note

NOTE_SCHEMA = "modeldyno.note/1"


def note(
    about: Annotated[
        str, typer.Argument(metavar="RUN", help="A run, its part, latest; or benchmark/12.")
    ],
    text: Annotated[
        str | None, typer.Argument(metavar="[TEXT]", help="What to write; none shows it.")
    ] = None,
    json: options.Json = False,
    workspace: options.Workspace = None,
) -> None:
    """Show or write the note of a benchmark or comparison: that of a run is its benchmark's.

    Examples:

        modeldyno note latest "with the new driver"

        modeldyno note benchmark/12
    """
    from modeldyno.settings import Settings
    from modeldyno.workbench import open_archive

    archive = open_archive(Settings.read(workspace), needs_database=True)
    subject = archive.subject(about)
    found = archive.note(subject) if text is None else archive.write_note(subject, text)
    if json:
        output.document(_document(found))
    elif text is None:
        _show(found)
    else:
        output.tell(f"Noted on {subject.kind} {subject.id}")


def _show(note: Note) -> None:
    if note.text:
        output.say(note.text)
    else:
        output.tell(f"There is no note on {note.subject.kind} {note.subject.id} yet")


def _document(note: Note) -> dict[str, Any]:
    moment = note.modified_at
    return {
        "schema": NOTE_SCHEMA,
        "kind": note.subject.kind,
        "id": note.subject.id,
        "text": note.text,
        "version": note.version,
        "modified_at": moment.isoformat().replace("+00:00", "Z") if moment else None,
    }
