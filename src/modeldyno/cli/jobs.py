"""``modeldyno jobs``."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from modeldyno.cli import options, output

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from modeldyno.core.documents.runs import JobDocument

LOOK_AGAIN_S = 0.5
_LOST = "its server is gone; after the next server starts it can be resumed"

app = typer.Typer(invoke_without_command=True)

Number = Annotated[int, typer.Argument(metavar="JOB", min=1, help="As `jobs ls` lists it.")]
Numbers = Annotated[list[int], typer.Argument(metavar="JOB...", min=1, help="As `jobs ls` has it.")]


@app.callback()
def jobs(
    context: typer.Context,
    json: options.Json = False,
    server: options.Server = None,
    workspace: options.Workspace = None,
) -> None:
    """What the server measures, and what waits: without a command, the list of `jobs ls`.

    Examples:

        modeldyno jobs

        modeldyno jobs cancel 3
    """
    if context.invoked_subcommand is None:
        ls(json=json, server=server, workspace=workspace)


@app.command("ls")
def ls(
    count: Annotated[int, typer.Option("-n", min=1, help="How many, newest first.")] = 20,
    json: options.Json = False,
    server: options.Server = None,
    workspace: options.Workspace = None,
) -> None:
    """What is measured, what waits and why, and what became of earlier jobs."""
    from modeldyno.cli.remote import connect_client
    from modeldyno.core.errors import ServerUnreachable

    try:
        jobs = [*islice(connect_client(server, workspace).jobs.list(), count)]
    except ServerUnreachable:
        if server is not None:
            raise
        jobs = _read_stored_jobs(workspace, count)
    if json:
        _print_document(jobs)
    elif jobs:
        _print_table(jobs)
    else:
        output.message("There are no jobs yet")


@app.command("logs")
def logs(
    job: Number,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Continue until the job has ended.")
    ] = False,
    server: options.Server = None,
    workspace: options.Workspace = None,
) -> None:
    """Print what a job's workers printed."""
    import time

    from modeldyno.cli.remote import connect_client

    client = connect_client(server, workspace)
    offset = 0
    while True:
        # Looked at first: what was printed until the end comes after it.
        is_over = not follow or client.jobs.get(job).is_over
        text, after = client.jobs.log_from(job, offset)
        while after > offset:
            output.log(text)
            offset = after
            text, after = client.jobs.log_from(job, offset)
        if is_over:
            return
        time.sleep(LOOK_AGAIN_S)


@app.command("cancel")
def cancel(
    jobs: Numbers,
    json: options.Json = False,
    server: options.Server = None,
    workspace: options.Workspace = None,
) -> None:
    """Stop jobs that run or wait. What was measured is kept."""
    from modeldyno.cli.remote import connect_client

    client = connect_client(server, workspace)
    _print_jobs([client.jobs.cancel(job) for job in jobs], json, running="is being stopped")


@app.command("resume")
def resume(
    jobs: Numbers,
    json: options.Json = False,
    server: options.Server = None,
    workspace: options.Workspace = None,
) -> None:
    """Go on with jobs that were stopped. What they measured counts."""
    from modeldyno.cli.remote import connect_client

    client = connect_client(server, workspace)
    _print_jobs([client.jobs.resume(job) for job in jobs], json)


def _read_stored_jobs(workspace: Path | None, count: int) -> list[JobDocument]:
    """From the database, when no server runs: what it says is running is not."""
    from modeldyno.core.documents.runs import JobDocument
    from modeldyno.core.runs import LARGEST_PAGE, ListQuery
    from modeldyno.settings import Settings
    from modeldyno.workbench import open_records

    settings = Settings.read(workspace)
    if not settings.has_server_data:
        return []
    records = open_records(settings)
    try:
        jobs = records.jobs.page(ListQuery(limit=min(count, LARGEST_PAGE))).items
        waiting = {job.id: place for place, job in enumerate(records.jobs.waiting(), start=1)}
    finally:
        records.close()
    states = [
        JobDocument.from_fields(
            job,
            place=waiting.get(job.id),
            reason="no server runs" if job.state == "queued" else job.reason,
            progress=None,
        )
        for job in jobs
    ]
    # A database that several machines reach may have its server on another one.
    is_ours = settings.database_url is None
    return [
        replace(job, state="interrupted", reason=_LOST)
        if is_ours and job.state == "running"
        else job
        for job in states
    ]


def _print_jobs(jobs: Sequence[JobDocument], as_json: bool, running: str = "running") -> None:
    if as_json:
        _print_document(jobs)
        return
    for job in jobs:
        state = running if job.state == "running" else job.state
        output.say(f"job {job.id}: {state}" + (f", {job.reason}" if job.reason else ""))


def _print_table(jobs: Iterable[JobDocument]) -> None:
    from datetime import UTC, datetime

    from modeldyno.core import figures

    now = datetime.now(UTC)
    head = ("job", "state", "kind", "run", "queued", "about")
    rows = [
        (
            str(job.id),
            job.state,
            job.kind,
            job.run_id,
            figures.ago((now - job.queued_at).total_seconds()),
            _describe_job(job),
        )
        for job in jobs
    ]
    output.table(head, rows, left=head[1:])


def _describe_job(job: JobDocument) -> str:
    """``3 of 8 units, about 12 s more``, or why it waits, or what became of it."""
    from modeldyno.core import figures

    standing = job.progress
    if standing is None or (job.state == "running" and job.reason):  # it waits for cores
        return job.reason
    left = f", about {figures.duration(standing.remaining_s)} more" if standing.remaining_s else ""
    return f"{standing.units_done} of {standing.units_planned} units{left}"


def _print_document(jobs: Iterable[JobDocument]) -> None:
    from modeldyno.core.documents.runs import JobsDocument

    output.document(JobsDocument(jobs=tuple(jobs)))
