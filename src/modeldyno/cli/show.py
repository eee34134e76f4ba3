"""``modeldyno show``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from modeldyno.cli import options, output
from modeldyno.cli.profile import By
from modeldyno.core.errors import BadValue

if TYPE_CHECKING:
    from modeldyno.core.ids import RunId
    from modeldyno.core.runs import StoredRun


def show(
    run: Annotated[
        str | None,
        typer.Argument(
            metavar="RUN", help="Its number (12), id, or a part of that.", show_default="the newest"
        ),
    ] = None,
    csv: Annotated[Path | None, typer.Option(help="Also write the table to a CSV file.")] = None,
    against: Annotated[
        str | None,
        typer.Option(metavar="RUN", help="For a profile: what changes from that one to it."),
    ] = None,
    by: Annotated[
        By, typer.Option("--by", help="Show these changes by node, or operator.")
    ] = By.op,
    json: options.Json = False,
    server: options.Server = None,
    workspace: options.Workspace = None,
) -> None:
    """Show what was measured once more.

    Examples:

        modeldyno show

        modeldyno show 3fa9c1 --json

        modeldyno show 3fa9c1 --against 8b21d0 --by node
    """
    from modeldyno.cli.remote import kept_runs

    kept = kept_runs(server, workspace).find(run)
    if csv is not None:
        if kept.result is None:
            raise BadValue(f"Run {kept.run_id} has no result to write", why=f"it is {kept.state}")
        with output.translated_write_errors(csv):
            kept.result.to_csv(csv)
    if against is not None:
        from modeldyno.cli.profile import kept_profile, present_diff

        before = kept_profile(against, server, workspace)
        present_diff(before, kept_profile(kept.run_id, server, workspace), json, by)
    elif json:
        _print_document(kept, workspace)
    elif kept.result is None:
        _print_unfinished(kept, None if server else _log_path(workspace, kept.run_id))
    else:
        from modeldyno.cli import kinds

        kinds.show(kept.kind, kept.result, f"#{kept.number}", workspace)


def _print_document(kept: StoredRun, workspace: Path | None) -> None:
    from modeldyno.cli.profile import peaks_in
    from modeldyno.core.documents.runs import RunsDocument

    if kept.result is None:
        output.document(RunsDocument.of([kept]))
    else:
        output.document(kept.result.document(peaks_in(workspace)))


def _log_path(workspace: Path | None, run_id: RunId) -> Path:
    from modeldyno.settings import Settings
    from modeldyno.workbench import open_history

    return open_history(Settings.read(workspace)).folder(run_id).log


def _print_unfinished(kept: StoredRun, log: Path | None) -> None:
    """What there is of it, and how to go on."""
    from modeldyno.core import figures

    output.say(f"{kept.kind} of {kept.subject}: {kept.state}, {kept.kept} kept")
    if len(kept.sessions) > 1:
        for name, units in zip(kept.cell_names, kept.sessions, strict=True):
            output.say(f"  {name}: {figures.counted(units, kept.spec.unit)}")
    if kept.failure is not None:
        output.print_failure(kept.state, kept.failure)
    if log and log.exists() and log.stat().st_size:
        output.message(f"What its workers printed: {log}")
    if kept.state == "running":
        output.message("It is being measured right now")
    elif kept.state == "failed":
        output.message("It failed: measure it again, with what the error says")
    elif command := kept.spec.resume_command(str(kept.number)):
        output.message(f"next: {command}")
    else:
        output.message(f"This {kept.kind} cannot be resumed: run it again")
