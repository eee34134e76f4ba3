"""``modeldyno note``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from modeldyno.cli import options, output

if TYPE_CHECKING:
    from modeldyno.core.notes import NoteDocument


def note(
    about: Annotated[
        str, typer.Argument(metavar="RUN", help="A run: 12, an id, latest; or benchmark/12.")
    ],
    text: Annotated[
        str | None,
        typer.Argument(metavar="[TEXT]", help="Text to write; without it, show the note."),
    ] = None,
    json: options.Json = False,
    server: options.Server = None,
    workspace: options.Workspace = None,
) -> None:
    """Show or write the note of a benchmark or comparison: that of a run is its benchmark's.

    Examples:

        modeldyno note latest "with the new driver"

        modeldyno note benchmark/12
    """
    written = (
        _read_or_write_here(about, text, workspace)
        if server is None
        else _read_or_write_on_server(about, text, server, workspace)
    )
    if json:
        output.document(written)
    elif text is None:
        _print_note(written)
    else:
        output.message(f"Noted on {written.kind} {written.id}")


def _read_or_write_here(about: str, text: str | None, workspace: Path | None) -> NoteDocument:
    from modeldyno.core.notes import NoteDocument
    from modeldyno.settings import Settings
    from modeldyno.workbench import open_archive

    archive = open_archive(Settings.read(workspace), needs_database=True)
    subject = archive.subject(about)
    return NoteDocument.of(
        archive.note(subject) if text is None else archive.write_note(subject, text)
    )


def _read_or_write_on_server(
    about: str, text: str | None, server: str, workspace: Path | None
) -> NoteDocument:
    from modeldyno.cli.remote import ServerRuns, connect_client
    from modeldyno.core.notes import Subject, subject_of

    client = connect_client(server, workspace)
    subject = subject_of(about)
    if subject is None:
        run = client.runs.get(ServerRuns(client).id_of(about))
        subject = Subject(run.kind, run.of_id)
    notes = client.notes
    if text is None:
        return notes.get(subject.kind, subject.id)
    return notes.write(subject.kind, subject.id, text)


def _print_note(note: NoteDocument) -> None:
    if note.text:
        output.export(note.text)
    else:
        output.message(f"There is no note on {note.kind} {note.id} yet")
