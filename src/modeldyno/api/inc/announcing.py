"""``<kind>_start`` and ``<kind>_finish``: what clients of ``/api`` wait for after ``…/execute``.

Every client is sent each start, and exactly once each end, whoever started the run: done,
failed, cancelled, deleted while it ran, or interrupted by the end of the server. Announcements
follow events of the database, so they are true. A job row keeps the request's id until its end has
been announced: what one server could not announce, the next one tells its first client.
"""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

from modeldyno.api.inc.broadcast import Broadcast, Status, failure_data
from modeldyno.api.inc.shapes import failure_text, sentence
from modeldyno.core.errors import ModeldynoError, NotFound
from modeldyno.core.events import Event
from modeldyno.core.ids import RunId
from modeldyno.core.runs import ACTIVE, RunKind, RunOf, RunState

if TYPE_CHECKING:
    from modeldyno.services.event_feed import EventFeed
    from modeldyno.store.records.all import Records

logger = logging.getLogger(__name__)

RETRY_S = 1.0  # while the database is unreachable

Details = Callable[[int], dict[str, Any]]
Started = Callable[[int, RunId], dict[str, Any]]


@dataclass(frozen=True)
class RunEvents:
    """Start and finish of one kind of run: ``details`` when it is done, and what ``started`` adds
    to message and request."""

    name: str  # of the events: benchmark_start …
    details: Details
    started: Started = lambda _number, _run_id: {}
    failure_status: Status = "error"


@dataclass(frozen=True)
class StateChange:
    """A run has entered a state."""

    run_id: RunId
    of: RunOf
    project_id: int | None
    state: RunState


Claim = Callable[[StateChange], bool]


class Announcer:
    """Works in a thread of its own; ``on_event``, called in the feed's, only queues."""

    def __init__(self, records: Records, feed: EventFeed, broadcast: Broadcast) -> None:
        self._records = records
        self._broadcast = broadcast
        self._kinds: dict[RunKind, RunEvents] = {}
        self._claims: list[Claim] = []
        self._requests: dict[RunId, str] = {}
        self._deferred: dict[RunId, StateChange] = {}  # runs that ended while no server was there
        self._changes: SimpleQueue[StateChange | None] = SimpleQueue()
        self._closing = threading.Event()
        feed.on_event(self.on_event)
        broadcast.on_first_client(self._announce_deferred)

    def add_kind(self, kind: RunKind, events: RunEvents) -> None:
        """From now on, runs of this kind are announced."""
        self._kinds[kind] = events

    def add_claim(self, claim: Claim) -> None:
        """Runs for which ``claim`` is true are announced elsewhere; it is called in our thread."""
        self._claims.append(claim)

    def defer(self, change: StateChange) -> None:
        """Announced to the first client: it happened while no server could announce it."""
        self._deferred[change.run_id] = change

    def remember(self, run_id: RunId, request_id: str) -> None:
        """Call it in the transaction that makes the job: its row may be gone when the run ends."""
        self._requests[run_id] = request_id

    def on_event(self, event: Event) -> None:
        payload = event.payload
        # A new run that is over already was found in a folder: no client waits for it.
        is_change = event.kind == "run.changed" or (
            event.kind == "run.created" and payload["state"] == "running"
        )
        if is_change and payload["kind"] in self._kinds:
            of = RunOf(payload["kind"], payload["id"])
            change = StateChange(payload["run_id"], of, event.project_id, payload["state"])
            self._changes.put(change)

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """Enter it before the queue starts: it reads what an earlier server left."""
        for job in self._records.jobs.waiting():
            if job.request_id is not None:
                self.remember(job.run_id, job.request_id)
        for job, of in self._records.jobs.list_with_unannounced_end():
            self.defer(StateChange(job.run_id, of, job.project_id, job.state))
        thread = threading.Thread(target=self._run_thread, name="announcing", daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._closing.set()
            self._changes.put(None)
            thread.join(5.0)

    # ------------------------------------------------------------ the announcer's thread

    def _run_thread(self) -> None:
        while (change := self._changes.get()) is not None:
            while not self._closing.is_set():
                try:
                    self._announce(change)
                except ModeldynoError as error:  # such as an unreachable database
                    logger.warning("run %s: its announcement waits: %s", change.run_id, error)
                    self._closing.wait(RETRY_S)
                    continue
                except Exception:
                    logger.exception("run %s cannot be announced", change.run_id)  # our bug; go on
                break

    def _announce(self, change: StateChange) -> None:
        self._deferred.pop(change.run_id, None)  # it was resumed: its end is still to come
        if any(claim(change) for claim in self._claims):
            return
        events, of = self._kinds[change.of.kind], change.of
        if change.state == "running":
            start = {"message": "started", "request_id": self._request_of(change.run_id)}
            start |= events.started(of.id, change.run_id)
            self._broadcast.emit(f"{events.name}_start", "success", start)
        elif change.state not in ACTIVE:
            self._announce_end(change, events)

    def _announce_end(self, change: StateChange, events: RunEvents) -> None:
        request: dict[str, Any] = {"request_id": self._request_of(change.run_id)}
        status: Status = "success"
        try:
            if change.state == "done":
                end = request | events.details(change.of.id)
            else:
                status, end = events.failure_status, self.why(change) | request
        except NotFound:  # deleted a moment later
            status, end = events.failure_status, DELETED | request
        end |= {"id": change.of.id, "project_id": change.project_id}
        self._broadcast.emit(f"{events.name}_finish", status, end)
        if self._requests.pop(change.run_id, ""):
            self._forget(change.run_id)

    def _forget(self, run_id: RunId) -> None:
        """Errors are logged, not raised: a retry would announce the end again."""
        try:
            self._records.jobs.forget_request(run_id)
        except ModeldynoError as error:
            logger.warning("run %s: the next server may announce its end again: %s", run_id, error)

    def why(self, change: StateChange) -> dict[str, Any]:
        """Details of a run that ended without being done, with the reason in words."""
        try:
            failure = self._records.runs.get(change.run_id).failure
        except NotFound:
            return DELETED
        if failure is not None:
            return failure_data(failure_text(failure), failure["code"])
        job = self._records.jobs.find_of_run(change.run_id)
        reason = (job and job.reason) or f"it was {change.state}"
        return failure_data(sentence(reason), change.state.upper())

    def _request_of(self, run_id: RunId) -> str:
        """Empty if the run was not started through ``/api``."""
        if run_id not in self._requests:
            job = self._records.jobs.find_of_run(run_id)
            self._requests[run_id] = (job and job.request_id) or ""
        return self._requests[run_id]

    def _announce_deferred(self) -> None:
        for run_id in [*self._deferred]:
            if (change := self._deferred.pop(run_id, None)) is not None:
                self._changes.put(change)


DELETED = failure_data("It was deleted", "NOT_FOUND")
