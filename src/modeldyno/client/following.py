"""Follow a job, or events, to the end: over Socket.IO, and by asking where that cannot be had."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from modeldyno.client.reading import read
from modeldyno.client.steps import Cut, Listen, Receive, Say, Sleep, get
from modeldyno.core.documents.jobs import JobDocument
from modeldyno.core.documents.progress import ProgressDocument
from modeldyno.core.errors import ServerUnreachable

LOOK_AGAIN_S = 10.0  # however quiet it is: a job that ended unheard is not waited for forever
POLL_S = 0.5
PAUSES_S = (0.0, 0.2, 0.5, 1.0, 2.0, 4.0)  # before the next try to listen
PATIENCE_S = 60.0  # for a server that is started anew


MISSED = "events.missed"  # what was forgotten before we came back: fetch everything anew


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


def follow_job(job_id: int) -> Generator[Any, Any, None]:
    """Says the job whenever something about it changed; the last one is over.

    Events only tell when to look; what is said comes from the job itself. So after a cut, or a
    server's restart, it goes on with what is true then.
    """
    job = read(JobDocument, (yield get(f"/jobs/{job_id}")).json)
    yield Say(job)
    heard: int | None = None
    fails = 0
    while not job.is_over:
        try:
            position = yield Listen(job.project_id, heard)
        except Cut:
            # No way to listen (a proxy, no package): ask now and then, and try again at times.
            yield Sleep(POLL_S)
            fails += 1
        else:
            fails = 0
            if heard is None or not position.get("is_complete"):
                heard = position.get("last")
        job, is_new = yield from _looked(job)  # what happened before we listened
        if is_new:
            yield Say(job)
        if fails:
            continue
        try:
            while not job.is_over:
                message = yield Receive(LOOK_AGAIN_S)
                said = _said(message)
                if said is not None and said.number is not None:
                    heard = said.number
                now = None if said is None else _progress(job, said)
                if now is not None:
                    is_new = now != job
                    job = now
                elif said is None or _is_about(job, said):
                    job, is_new = yield from _looked(job)
                else:
                    continue
                if is_new:
                    yield Say(job)
        except Cut:
            continue


def _looked(before: JobDocument) -> Generator[Any, Any, tuple[JobDocument, bool]]:
    """The job as it is now; a server that is away for a moment is waited for."""
    waited_s = 0.0
    while True:
        try:
            now = read(JobDocument, (yield get(f"/jobs/{before.id}")).json)
        except ServerUnreachable:
            if waited_s >= PATIENCE_S:
                raise
            yield Sleep(1.0)
            waited_s += 1.0
        else:
            return now, now != before


def _said(message: Any) -> ReceivedEvent | None:
    """None: nothing came. Raises Cut when the server sends us away."""
    if message is None:
        return None
    name, data = message
    if name != "event":
        raise Cut(str(name))
    return read(ReceivedEvent, data)


def _progress(job: JobDocument, said: ReceivedEvent) -> JobDocument | None:
    if said.kind != "job.progress" or said.data.get("id") != job.id:
        return None
    return replace(job, state="running", place=None, progress=read(ProgressDocument, said.data))


def _is_about(job: JobDocument, said: ReceivedEvent) -> bool:
    """Whatever moves in the queue may change the place of one that waits."""
    if said.data.get("run_id") == job.run_id and said.kind != "job.progress":
        return True
    return said.kind == "job.changed" and said.data.get("id") == job.id


def follow_events(
    project_id: int | None = None, after: int | None = None
) -> Generator[Any, Any, None]:
    """Says every event after ``after``, each once and in order, for as long as anybody listens.

    After a cut it goes on from the last one. One of kind ``events.missed`` says that some were
    forgotten meanwhile.
    """
    fails = 0
    while True:
        try:
            position = yield Listen(project_id, after)
            fails = 0
            if not position.get("is_complete", True):
                yield Say(
                    ReceivedEvent(
                        number=position["last"],
                        kind=MISSED,
                        project_id=project_id,
                        at=None,
                        data={},
                    )
                )
            if after is None or not position.get("is_complete", True):
                after = position["last"]
            while True:
                said = _said((yield Receive(LOOK_AGAIN_S)))
                if said is None:
                    continue
                after = said.number if said.number is not None else after
                yield Say(said)
        except Cut as cut:
            if fails >= len(PAUSES_S):
                raise ServerUnreachable(
                    "The server's events cannot be heard", why=str(cut), fix="Ask again later"
                ) from cut
            yield Sleep(PAUSES_S[fails])
            fails += 1
