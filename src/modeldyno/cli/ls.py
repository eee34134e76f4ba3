"""``modeldyno ls``."""

from __future__ import annotations

from typing import Annotated

import typer

from modeldyno.cli import options, output

LEGEND = (
    "± is where a repeat on that machine was expected (95 %), or of runs of earlier versions how "
    "far their own sessions agreed; `modeldyno show` has both"
)


def ls(
    count: Annotated[int, typer.Option("-n", min=1, help="How many, newest first.")] = 20,
    json: options.Json = False,
    server: options.Server = None,
    workspace: options.Workspace = None,
) -> None:
    """List what was measured, newest first. Other commands take a run's number: 12 or '#12'.

    Examples:

        modeldyno ls

        modeldyno ls --json
    """
    from datetime import UTC, datetime

    from modeldyno.cli.remote import kept_runs
    from modeldyno.core import figures
    from modeldyno.core.names import name_of_file
    from modeldyno.engines.run_names import run_name
    from modeldyno.settings import Settings

    settings = Settings.read(workspace)
    runs, unreadable = kept_runs(server, workspace).recent(count)
    if json:
        from modeldyno.core.documents.runs import RunsDocument

        output.document(RunsDocument.of(runs, unreadable))
        return
    now = datetime.now(UTC)
    head = ("run", "when", "kind", "model", "state", "result")
    rows = []
    for run in runs:
        age_s = (now - datetime.fromisoformat(run.created_at)).total_seconds()
        names = [name_of_file(model.path) for model in run.spec.models()]
        subject = (run.kind, run_name(run.spec, names), run.state, run.headline)
        rows.append((f"#{run.number}", figures.ago(age_s), *subject))
    if rows:
        output.table(head, rows, left=head)
        if any("±" in run.headline for run in runs):
            output.message(LEGEND)
    if unreadable:
        output.warn(
            f"damaged, or from another version of Modeldyno: {', '.join(unreadable)}",
            f"they are in {server or settings.workspace / 'runs'}",
        )
    if not rows and not unreadable:
        output.message(f"Nothing has been measured yet in {server or settings.workspace}")
        output.message("next: modeldyno demo · modeldyno bench YOUR.onnx")
