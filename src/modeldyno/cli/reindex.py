"""``modeldyno reindex``."""

from __future__ import annotations

from typing import Annotated

import typer

from modeldyno.cli import options, output
from modeldyno.core import figures

DIFFERENT = 1


def reindex(
    check: Annotated[
        bool, typer.Option("--check", help="Only say what differs; exit code 1 if anything does.")
    ] = False,
    json: options.Json = False,
    quiet: options.Quiet = False,
    workspace: options.Workspace = None,
) -> None:
    """Rebuild the rows of runs in the database from their folders.

    Projects, names, notes, pins, trust and datasets are in the database alone, and stay.

    Examples:

        modeldyno reindex --check
    """
    from modeldyno.cli.progress import doing
    from modeldyno.settings import Settings
    from modeldyno.workbench import open_index

    with open_index(Settings.read(workspace)) as index, doing(quiet or json) as show:
        document = index.rebuild_from_folders(
            check=check, on_progress=lambda done, total: show(f"{done} of {total} runs")
        )
    if json:
        output.document(document)
    else:
        verb = "differ" if check else "rebuilt"
        wrong = len(document.missing) + len(document.different)
        output.message(f"{figures.counted(document.checked, 'run')} checked, {wrong} {verb}")
        for run_id in document.unreadable:
            output.warn(f"Run {run_id} cannot be read", "Its files are in the workspace")
    if check and not document.is_same:
        raise typer.Exit(DIFFERENT)
