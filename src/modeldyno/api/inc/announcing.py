"""``<kind>_start`` and ``<kind>_finish``: what clients of ``/api`` wait for after ``…/execute``.

Whoever started a run, every client hears that it began, and once that it ended: done, failed,
cancelled, deleted while it ran, or cut short by a server that ended. What is said comes from the
events of the database, so it is said of what is true. A job row keeps the request's id until its
end was told: what a server did not come to say, the next one says to the first client it has.
"""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

from modeldyno.api.inc.broadcast import Broadcast, Status
from modeldyno.api.inc.shapes import begun, in_words
from modeldyno.core.errors import ModeldynoError, NotFound
from modeldyno.core.events import Event
from modeldyno.core.ids import RunId
from modeldyno.core.runs import ACTIVE, RunKind, RunOf, RunState

if TYPE_CHECKING:
    from modeldyno.services.event_feed import EventFeed
    from modeldyno.store.records.all import Records

logger = logging.getLogger(__name__)

TRY_AGAIN_S = 1.0  # when the database is away
FAILED = 404  # the number that clients know for "it did not work"; ours is the error_code

Details = Callable[[int], dict[str, Any]]
Started = Callable[[int, RunId], dict[str, Any]]


@dataclass(frozen=True)
class Speech:
    """How runs of one kind are told: ``details`` of the thing when it is done, ``started`` for
    what the start says beside message and request."""

    name: str  # of the events: benchmark_start …
    details: Details
    started: Started = lambda _number, _run_id: {}
    unhappy: Status = "error"


@dataclass(frozen=True)
class Move:
    """A run came into a state."""

    run_id: RunId
    of: RunOf
    project_id: int | None
    state: RunState


Take = Callable[[Move], bool]


class Announcer:
    """A thread of its own reads and says; ``hear`` is called in the feed's and only hands over."""

    def __init__(self, records: Records, feed: EventFeed, broadcast: Broadcast) -> None:
        self._records = records
        self._broadcast = broadcast
        self._speeches: dict[RunKind, Speech] = {}
        self._takers: list[Take] = []
        self._requests: dict[RunId, str] = {}
        self._owed: dict[RunId, Move] = {}  # ended while no server could say so
        self._moves: SimpleQueue[Move | None] = SimpleQueue()
        self._closing = threading.Event()
        feed.on_event(self.hear)
        broadcast.on_first(self._pay)

    def speaks(self, kind: RunKind, speech: Speech) -> None:
        """For the files of nouns: from now on, runs of this kind are told."""
        self._speeches[kind] = speech

    def instead(self, take: Take) -> None:
        """``take`` says True of runs that it tells of itself; called in the announcer's thread."""
        self._takers.append(take)

    def owe(self, move: Move) -> None:
        """Told once the first client is there: it happened when no server could say so."""
        self._owed[move.run_id] = move

    def remember(self, run_id: RunId, request_id: str) -> None:
        """In the transaction that makes the job: its row may be gone when its end is told."""
        self._requests[run_id] = request_id

    def hear(self, event: Event) -> None:
        told = event.payload
        # What is new and over was found in a folder: nobody waits for it.
        is_move = event.kind == "run.changed" or (
            event.kind == "run.created" and told["state"] == "running"
        )
        if is_move and told["kind"] in self._speeches:
            of = RunOf(told["kind"], told["id"])
            self._moves.put(Move(told["run_id"], of, event.project_id, told["state"]))

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """Around the queue's own life: what an earlier server left is known before."""
        for job in self._records.jobs.waiting():
            if job.request_id is not None:
                self.remember(job.run_id, job.request_id)
        for job, of in self._records.jobs.with_unannounced_end():
            self.owe(Move(job.run_id, of, job.project_id, job.state))
        thread = threading.Thread(target=self._work, name="announcing", daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._closing.set()
            self._moves.put(None)
            thread.join(5.0)

    # ------------------------------------------------------------ the announcer's thread

    def _work(self) -> None:
        while (move := self._moves.get()) is not None:
            while not self._closing.is_set():
                try:
                    self._tell(move)
                except ModeldynoError as error:  # the database is away: nobody is forgotten
                    logger.warning("run %s: what became of it waits: %s", move.run_id, error)
                    self._closing.wait(TRY_AGAIN_S)
                    continue
                except Exception:
                    logger.exception("run %s cannot be told", move.run_id)  # our bug; others can
                break

    def _tell(self, move: Move) -> None:
        self._owed.pop(move.run_id, None)  # it goes on: its end is still to come
        if any(take(move) for take in self._takers):
            return
        if move.state == "running":
            self._say_started(move)
        elif move.state not in ACTIVE:
            self._say_ended(move)

    def _say_started(self, move: Move) -> None:
        speech = self._speeches[move.of.kind]
        said = {"message": "started", "request_id": self._request_of(move.run_id)}
        self._broadcast.say(
            f"{speech.name}_start", "success", said | speech.started(move.of.id, move.run_id)
        )

    def _say_ended(self, move: Move) -> None:
        speech = self._speeches[move.of.kind]
        request: dict[str, Any] = {"request_id": self._request_of(move.run_id)}
        status: Status = "success"
        try:
            if move.state == "done":
                told = request | speech.details(move.of.id)
            else:
                status, told = speech.unhappy, self.why(move) | request
        except NotFound:  # deleted a moment later
            status, told = speech.unhappy, DELETED | request
        told |= {"id": move.of.id, "project_id": move.project_id}
        self._broadcast.say(f"{speech.name}_finish", status, told)
        if self._requests.pop(move.run_id, ""):
            self._forget(move.run_id)

    def _forget(self, run_id: RunId) -> None:
        """Not again from the beginning when that fails: it was told."""
        try:
            self._records.jobs.forget_request(run_id)
        except ModeldynoError as error:
            logger.warning("run %s: the next server may tell its end again: %s", run_id, error)

    def why(self, move: Move) -> dict[str, Any]:
        """Why a run is not done: the real reason, in words."""
        try:
            failure = self._records.runs.get(move.run_id).failure
        except NotFound:
            return DELETED
        if failure is not None:
            return _failed(in_words(failure), failure["code"])
        job = self._records.jobs.of_run(move.run_id)
        return _failed((job and job.reason) or f"it was {move.state}", move.state.upper())

    def _request_of(self, run_id: RunId) -> str:
        """ "" of a run that nobody started through ``/api``."""
        if run_id not in self._requests:
            job = self._records.jobs.of_run(run_id)
            self._requests[run_id] = (job and job.request_id) or ""
        return self._requests[run_id]

    def _pay(self) -> None:
        for run_id in [*self._owed]:
            if (move := self._owed.pop(run_id, None)) is not None:
                self._moves.put(move)


def _failed(message: str, code: str) -> dict[str, Any]:
    return {"message": begun(message), "code": FAILED, "error_code": code}


DELETED = _failed("It was deleted", "NOT_FOUND")
