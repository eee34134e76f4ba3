"""``modeldyno rm``."""

from __future__ import annotations

from typing import Annotated

import typer

from modeldyno.cli import options, output
from modeldyno.core import figures

REMOVED_SCHEMA = "modeldyno.removed/1"


def rm(
    runs: Annotated[
        list[str], typer.Argument(metavar="RUN...", help="Ids, parts of ids, or latest.")
    ],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    json: options.Json = False,
    workspace: options.Workspace = None,
) -> None:
    """Remove runs for good: what was asked, every sample, the result.

    At a terminal it asks first. One that is being measured is not removed.
    """
    from modeldyno.settings import Settings
    from modeldyno.workbench import open_archive, open_history

    settings = Settings.read(workspace)
    history = open_history(settings)
    ids = list(dict.fromkeys(history.id_of(word) for word in runs))
    archive = open_archive(settings)
    for run_id in ids:
        archive.expect_over(run_id)
    if not yes and not output.agrees(f"Remove {', '.join(ids)} for good?"):
        output.tell("Nothing was removed")
        raise typer.Exit(1)
    for run_id in ids:
        archive.remove(run_id)
    if json:
        output.document({"schema": REMOVED_SCHEMA, "removed": ids})
    else:
        output.tell(f"Removed {figures.counted(len(ids), 'run')}")
