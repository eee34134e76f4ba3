"""``modeldyno rm``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from modeldyno.cli import options, output
from modeldyno.core import figures
from modeldyno.core.errors import WrongState

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from modeldyno.core.ids import RunId


def rm(
    runs: Annotated[
        list[str],
        typer.Argument(metavar="RUN...", help="Numbers (12), ids, parts of ids, or latest."),
    ],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    json: options.Json = False,
    server: options.Server = None,
    workspace: options.Workspace = None,
) -> None:
    """Remove runs for good: the request, every sample, the result.

    At a terminal it asks first. One that is being measured is not removed.

    Examples:

        modeldyno rm latest
    """
    from modeldyno.cli.remote import kept_runs

    kept = kept_runs(server, workspace)
    ids = list(dict.fromkeys(kept.id_of(word) for word in runs))
    numbers = kept.numbers_of(ids)
    names = [f"#{numbers[run_id]} ({run_id})" for run_id in ids]
    remove = (
        _remover_here(ids, workspace)
        if server is None
        else _remover_on_server(ids, server, workspace)
    )
    if not yes and not output.ask_yes_or_no(f"Remove {', '.join(names)} for good?"):
        output.message("Nothing was removed")
        raise typer.Exit(1)
    for run_id in ids:
        remove(run_id)
    if json:
        from modeldyno.core.documents.runs import RemovedDocument

        output.document(RemovedDocument(removed=tuple(ids)))
    else:
        output.message(f"Removed {figures.counted(len(ids), 'run')}")


def _remover_here(ids: Iterable[RunId], workspace: Path | None) -> Callable[[RunId], None]:
    from modeldyno.settings import Settings
    from modeldyno.workbench import open_archive

    archive = open_archive(Settings.read(workspace))
    for run_id in ids:
        archive.require_not_running(run_id)
    return archive.remove


def _remover_on_server(
    ids: Iterable[RunId], server: str, workspace: Path | None
) -> Callable[[RunId], None]:
    from modeldyno.cli.remote import connect_client

    client = connect_client(server, workspace)
    for run_id in ids:
        state = client.runs.get(run_id).state
        if state in ("queued", "running"):
            raise WrongState(
                f"Cannot remove run {run_id}", why=f"it is {state}", fix="Cancel its job first"
            )
    return client.runs.delete
