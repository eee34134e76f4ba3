"""``modeldyno rerun``."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from modeldyno.cli import options

if TYPE_CHECKING:
    from modeldyno.core.specs import RunSpec


def rerun(
    run: Annotated[
        str, typer.Argument(metavar="RUN", help="Its number (12), id, a part of that, or latest.")
    ],
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit 7 if a cell is not quiet.")
    ] = False,
    json: options.Json = False,
    quiet: options.Quiet = False,
    server: options.Server = None,
    workspace: options.Workspace = None,
) -> None:
    """Measure once more what a run measured, with the same settings, in a run of its own.

    On a server it becomes one more run of the same benchmark.

    Examples:

        modeldyno rerun latest

        modeldyno rerun 3fa9c1 --json
    """
    from modeldyno.cli import kinds
    from modeldyno.cli.remote import run_label

    name, kind, spec, start = (
        _prepare_here(run, workspace)
        if server is None
        else _prepare_on_server(run, server, workspace)
    )
    label = partial(run_label, server, workspace)
    again = kinds.Again(name, start, spec, json, quiet, strict, workspace, label)
    raise typer.Exit(kinds.rerun(kind, again))


Found = tuple[str, str, "RunSpec | None", Callable[..., Any]]  # its name, kind, spec and start


def _prepare_here(word: str, workspace: Path | None) -> Found:
    from modeldyno.settings import Settings
    from modeldyno.workbench import open_history, open_workbench

    settings = Settings.read(workspace)
    spec = open_history(settings).find(word).spec
    start = partial(open_workbench(settings).service.run, spec)
    return spec.models()[0].path, spec.kind, spec, start


def _prepare_on_server(word: str, server: str, workspace: Path | None) -> Found:
    from modeldyno.cli import remote

    client = remote.connect_client(server, workspace)
    run = client.runs.get(remote.ServerRuns(client).id_of(word))
    return run.id, run.kind, None, partial(remote.run_again, client, run.id)
