"""Follow a job, or events, to the end: by events, and by polling where there are none."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from modeldyno.client.reading import read_value
from modeldyno.client.transport import Disconnected, EventConnection, Transport, get
from modeldyno.core.documents.runs import JobDocument, ProgressDocument
from modeldyno.core.errors import ServerUnreachable

RECHECK_S = 10.0  # without any event: one that got lost must not keep us waiting for ever
POLL_S = 0.5
PAUSES_S = (0.0, 0.2, 0.5, 1.0, 2.0, 4.0)  # before each new attempt to subscribe
PATIENCE_S = 60.0  # with a server that is being restarted


MISSED = "events.missed"  # the server no longer has some of them: fetch everything again


@dataclass(frozen=True, kw_only=True)
class ReceivedEvent:
    """``number`` is None for progress, which is not kept."""

    number: int | None
    kind: str
    project_id: int | None
    at: datetime | None
    data: dict[str, Any]


@dataclass(frozen=True)
class ReceivedEvents:
    events: tuple[ReceivedEvent, ...]
    last: int
    is_complete: bool


async def follow_job(
    transport: Transport, connection: EventConnection, job_id: int
) -> AsyncGenerator[JobDocument, None]:
    """The job whenever something about it changed, until it is over.

    Events only say when to look; what is yielded is the job itself. So after a disconnection or a
    restart of the server it continues with what is true then.
    """
    job = await transport.fetch(JobDocument, get(f"/jobs/{job_id}"))
    yield job
    last: int | None = None
    while not job.is_over:
        try:
            subscription = await connection.subscribe(job.project_id, last)
        except Disconnected:
            # No events (a proxy in between, a missing package): poll, and try again each time.
            await transport.io.sleep(POLL_S)
            is_subscribed = False
        else:
            is_subscribed = True
            if last is None or not subscription.get("is_complete"):
                last = subscription.get("last")
        latest = await _fetch_latest(transport, job)  # it may have changed before we subscribed
        if latest != job:
            job = latest
            yield job
        try:
            while is_subscribed and not job.is_over:
                event = _parse_event(await connection.receive(RECHECK_S))
                if event is not None and event.number is not None:
                    last = event.number
                latest = await _job_after_event(event, job, transport)
                if latest != job:
                    job = latest
                    yield job
        except Disconnected:
            continue


async def _job_after_event(
    event: ReceivedEvent | None, job: JobDocument, transport: Transport
) -> JobDocument:
    if event is None:
        return await _fetch_latest(transport, job)
    is_about_job = event.data.get("id") == job.id
    if event.kind == "job.progress":
        if not is_about_job:
            return job
        progress = read_value(ProgressDocument, event.data)
        return replace(job, state="running", place=None, progress=progress)
    is_about_run = event.data.get("run_id") == job.run_id
    if is_about_run or (event.kind == "job.changed" and is_about_job):
        return await _fetch_latest(transport, job)
    return job


async def _fetch_latest(transport: Transport, job: JobDocument) -> JobDocument:
    """The job as it is now; waits for a server that is unreachable for a moment."""
    waited_s = 0.0
    while True:
        try:
            return await transport.fetch(JobDocument, get(f"/jobs/{job.id}"))
        except ServerUnreachable:
            if waited_s >= PATIENCE_S:
                raise
            await transport.io.sleep(1.0)
            waited_s += 1.0


def _parse_event(message: tuple[str, Any] | None) -> ReceivedEvent | None:
    """Raises Disconnected when the server asks us to leave."""
    if message is None:
        return None
    name, content = message
    if name != "event":
        raise Disconnected(name)
    return read_value(ReceivedEvent, content)


async def follow_events(
    transport: Transport,
    connection: EventConnection,
    project_id: int | None = None,
    after: int | None = None,
) -> AsyncGenerator[ReceivedEvent, None]:
    """Every event after ``after``, each once and in order, for as long as anybody iterates.

    After a disconnection it resumes at the last one. An event of kind ``events.missed`` says that
    the server no longer has some that happened meanwhile.
    """
    failures = 0
    while True:
        try:
            subscription = await connection.subscribe(project_id, after)
            failures = 0
            is_complete = subscription.get("is_complete", True)
            if not is_complete:
                yield ReceivedEvent(
                    number=subscription["last"],
                    kind=MISSED,
                    project_id=project_id,
                    at=None,
                    data={},
                )
            if after is None or not is_complete:
                after = subscription["last"]
            while True:
                event = _parse_event(await connection.receive(RECHECK_S))
                if event is not None:
                    after = event.number if event.number is not None else after
                    yield event
        except Disconnected as error:
            if failures >= len(PAUSES_S):
                raise ServerUnreachable(
                    "The server's events cannot be received", why=str(error), fix="Try again later"
                ) from error
            await transport.io.sleep(PAUSES_S[failures])
            failures += 1
