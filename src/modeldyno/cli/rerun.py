"""``modeldyno rerun``."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from modeldyno.cli import options, output

if TYPE_CHECKING:
    from modeldyno.cli.bench import Task


def rerun(
    run: Annotated[str, typer.Argument(metavar="RUN", help="Its id, a part of it, or latest.")],
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit 7 when a cell is not quiet.")
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
    from modeldyno.cli.bench import ending, measure

    kind, task = _here(run, workspace) if server is None else _there(run, server, workspace)
    if kind == "benchmark":
        results, error = measure([task], quiet=quiet, as_json=json)
        if error is not None:
            raise error
        raise typer.Exit(ending(results, strict))
    if kind == "profile":
        from modeldyno.cli import profile

        profiled = profile.listened(task.run, quiet)
        peaks = profile.known_peaks(profiled, workspace)
        profile.present(profiled, json, quiet, peaks=peaks)
        raise typer.Exit(profile.INTERRUPTED if profiled.interrupted else 0)
    from modeldyno.cli import compare

    result = compare.listened(task.run, quiet)
    compare.present(result, json, quiet)
    code = compare.ending(result, quiet or json)
    if code:
        raise typer.Exit(code)
    if strict and result.noise != "quiet":
        from modeldyno.cli.bench import NOISY

        output.tell(f"The machine was {result.noise}")
        raise typer.Exit(NOISY)


def _here(word: str, workspace: Path | None) -> tuple[str, Task]:
    from modeldyno.cli.bench import Task, task_of
    from modeldyno.core.specs import BenchmarkSpec, OptimizationSpec, ProfileSpec
    from modeldyno.settings import Settings
    from modeldyno.workbench import open_history, open_workbench

    settings = Settings.read(workspace)
    spec = open_history(settings).find(word).spec
    run = partial(open_workbench(settings).service.run, spec)
    if isinstance(spec, BenchmarkSpec):
        return spec.kind, task_of(spec, run)
    if isinstance(spec, ProfileSpec | OptimizationSpec):
        return spec.kind, Task(spec.model.path, run)
    return spec.kind, Task(spec.a.label, run)


def _there(word: str, server: str, workspace: Path | None) -> tuple[str, Task]:
    from modeldyno.cli import remote
    from modeldyno.cli.bench import Task

    client = remote.connected(server, workspace)
    run = client.runs.get(remote.ServerRuns(client).id_of(word))
    return run.kind, Task(run.id, partial(remote.run_again, client, run.id))
