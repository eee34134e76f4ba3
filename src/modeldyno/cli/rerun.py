"""``modeldyno rerun``."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer

from modeldyno.cli import options, output


def rerun(
    run: Annotated[str, typer.Argument(metavar="RUN", help="Its id, a part of it, or latest.")],
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit 7 when a cell is not quiet.")
    ] = False,
    json: options.Json = False,
    quiet: options.Quiet = False,
    workspace: options.Workspace = None,
) -> None:
    """Measure once more what a run measured, with the same settings, in a run of its own.

    Examples:

        modeldyno rerun latest

        modeldyno rerun 3fa9c1 --json
    """
    from modeldyno.cli.bench import ending, measure, task_of
    from modeldyno.core.specs import BenchmarkSpec
    from modeldyno.settings import Settings
    from modeldyno.workbench import open_history, open_workbench

    settings = Settings.read(workspace)
    spec = open_history(settings).find(run).spec
    service = open_workbench(settings).service
    if isinstance(spec, BenchmarkSpec):
        task = task_of(spec, partial(service.run, spec))
        results, error = measure([task], quiet=quiet, as_json=json)
        if error is not None:
            raise error
        raise typer.Exit(ending(results, strict))
    from modeldyno.cli.compare import INTERRUPTED, listened, present

    result = listened(partial(service.run, spec), quiet)
    present(result, json, quiet)
    if result.interrupted:
        raise typer.Exit(INTERRUPTED)
    if strict and result.noise != "quiet":
        from modeldyno.cli.bench import NOISY

        output.tell(f"The machine was {result.noise}")
        raise typer.Exit(NOISY)
