"""Socket.IO, namespace ``/v1``: events as they happen, and from any number on.

Messages come from the rows of the database (``services/event_feed.py``), so a client that was
disconnected says what it received last and gets the rest, in order: nothing lost, nothing doubled.
A slow client gets what it missed from the database as fast as it reads, and live events only when
it has caught up; a client that does not read at all is disconnected.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any

import socketio
from engineio.exceptions import EngineIOError
from pydantic import Field, ValidationError
from socketio import packet
from socketio.exceptions import ConnectionRefusedError as Refused

from modeldyno.api.access import CALLER, OPEN_DOOR, Access, Caller
from modeldyno.api.errors import TOKEN, Refusal, refusal_of
from modeldyno.api.event_listener import NAMESPACE, Allowance, Listener, Packed, Room, pack
from modeldyno.api.guard import App
from modeldyno.api.inc import broadcast
from modeldyno.api.socket_limits import Lines
from modeldyno.api.v1.shape import MOST_ID, RequestBody
from modeldyno.core.codec import encode
from modeldyno.core.documents.runs import JobProgressDocument
from modeldyno.core.errors import ModeldynoError
from modeldyno.core.events import (
    ConversionMessage,
    ConversionStanding,
    Event,
    EventsSince,
    FetchMessage,
    FetchStanding,
    ProgressMessage,
    iso,
    message_of,
)
from modeldyno.core.jobs import Job
from modeldyno.core.redaction import without_folders
from modeldyno.services.background import log_failure, repeat
from modeldyno.services.conversions import Conversion, ConversionService
from modeldyno.services.event_feed import EventFeed
from modeldyno.services.example_fetches import ExampleFetch, ExampleFetches
from modeldyno.services.progress import JobProgress, LiveProgress
from modeldyno.store.records.events import EventRecords

logger = logging.getLogger(__name__)

GOODBYE = "goodbye"
MESSAGE_BYTES = 64 << 10
PING_S, PONG_S = 25, 20
MOST_ROOMS = 50
MOST_STRANGERS = 50  # lines of clients that are in no namespace yet
WISHES_PER_S, WISHES_AT_ONCE = 5.0, 20
MOST_UNHEARD = 2000  # events on their way from the feed's thread
_MISSED_AT_ONCE = 200
_SENT_AT_ONCE = 16
_MOST_NUMBER = 2**53
# Names that python-socketio gives a meaning, and those that the protocol keeps for its libraries.
RESERVED = frozenset(
    (
        *socketio.AsyncServer.reserved_events,
        *("connect", "connect_error", "disconnect", "disconnecting", "*"),
        *("newListener", "removeListener"),
    )
)

UNKNOWN = Refusal(
    400,
    "UNKNOWN_MESSAGE",
    "There is no such message",
    "clients may say subscribe, unsubscribe and ping",
    "See the section on events in docs/api.md",
)
TOO_FAST = Refusal(
    429, "TOO_MANY_MESSAGES", "Too many messages", "a few a second are heard", "Say less, then come"
)
TOO_SLOW = Refusal(
    429,
    "TOO_SLOW",
    "This client does not keep up",
    "it does not read its messages, or events were removed before it asked for them",
    "Reconnect and resume from event {after}",
)
NO_LONGER = Refusal(
    401, "TOKEN_NEEDED", "Not signed in any more", "the token or the session ended", "Sign in again"
)
TOO_MANY_ROOMS = Refusal(
    429,
    "TOO_MANY_ROOMS",
    "Too many projects for one connection",
    f"{MOST_ROOMS} is the limit",
    "Subscribe to everything: project_id null",
)
TOO_MANY_STRANGERS = Refusal(
    429,
    "TOO_MANY_STRANGERS",
    "Too many connections of unauthenticated clients",
    f"{MOST_STRANGERS} are waited for at once",
    "Try again in a few seconds, or send the token with the first request",
    ((b"retry-after", b"10"),),
)
LATER = Refusal(
    503, "TRY_AGAIN", "Events cannot be sent for now", "", "Reconnect and resume from event {after}"
)


@dataclass(frozen=True)
class Patience:
    """With those who hold a connection, in seconds."""

    recheck_s: float = 5.0  # how often their right to listen is checked
    introduce_s: float = 10.0  # a client without a sign-in by then only holds a line
    stuck_s: float = 20.0  # a client that reads nothing for so long


PATIENCE = Patience()


class SubscribeRequest(RequestBody):
    project_id: Annotated[int | None, Field(ge=1, le=MOST_ID, strict=True)] = None
    after: Annotated[int | None, Field(ge=0, le=_MOST_NUMBER, strict=True)] = None


class UnsubscribeRequest(RequestBody):
    project_id: Annotated[int | None, Field(ge=1, le=MOST_ID, strict=True)] = None


class EventSockets:
    """Everything but ``_from_*`` happens in the loop's thread."""

    def __init__(
        self,
        feed: EventFeed,
        progress: LiveProgress,
        fetches: ExampleFetches,
        conversions: ConversionService,
        events: EventRecords,
        access: Access,
        origins: Iterable[bytes],
        patience: Patience = PATIENCE,
    ) -> None:
        self._events = events
        self._access = access
        self._patience = patience
        self._listeners: dict[str, Listener] = {}
        self._allowances: dict[str, Allowance] = {}
        self._seen_at: dict[str, float] = {}  # lines, from when on we know them
        self._partings: set[asyncio.Task[None]] = set()
        self._last = 0  # the newest event that was sent here
        self._loop: asyncio.AbstractEventLoop | None = None
        self._lock = threading.Lock()
        self._unheard: deque[Event] = deque()
        self._lost = 0  # the newest that did not fit among the unheard
        self._standings: dict[int, tuple[Job, JobProgress]] = {}
        self._fetches: dict[tuple[int, str], ExampleFetch] = {}
        self._conversions: dict[int, Conversion] = {}
        self._is_called = False
        self._sio = _make_socket_server(origins)
        self._sio.on("connect", self._connect, namespace=NAMESPACE)
        self._sio.on("disconnect", self._disconnect, namespace=NAMESPACE)
        self._sio.on("*", self._on_message, namespace=NAMESPACE)
        self.broadcast = broadcast.Broadcast(
            self._sio, access, lambda line: self._start_task(self._close_line(line))
        )
        feed.on_event(self._on_event)
        progress.on_progress(self._on_progress)
        fetches.on_progress(self._on_fetch)
        conversions.on_progress(self._on_conversion)

    def serve_sockets_and(self, app: App) -> App:
        """Socket.IO's path is ours, everything else the application's."""
        lines = Lines(
            socketio.ASGIApp(self._sio), self._connection_of, self._close_line, self._refuse
        )

        async def either(scope: Any, receive: Any, send: Any) -> None:
            is_ours = scope["type"] != "lifespan" and scope["path"].startswith("/socket.io/")
            await (lines if is_ours else app)(scope, receive, send)

        return either

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Around the feed's own life: nothing that it tells is missed."""
        self._loop = asyncio.get_running_loop()
        self._last = await asyncio.to_thread(self._events.last_number)
        watching = asyncio.create_task(repeat(self._watch, "the check of open connections"))
        try:
            async with self.broadcast.running():
                yield
        finally:
            self._loop = None
            watching.cancel()
            for listener in [*self._listeners.values()]:
                self._forget_listener(listener)
            for task in (*self._partings,):
                task.cancel()

    # ------------------------------------------------------------ from other threads

    def _on_event(self, event: Event) -> None:
        with self._lock:
            if len(self._unheard) >= MOST_UNHEARD:  # the loop is stuck; the rows are not lost
                self._lost = event.number
                self._unheard.clear()
            self._unheard.append(event)
            self._wake_loop()

    def _on_progress(self, job: Job, standing: JobProgress) -> None:
        with self._lock:
            self._standings[job.id] = (job, standing)  # the last value wins
            self._wake_loop()

    def _on_fetch(self, fetch: ExampleFetch) -> None:
        with self._lock:
            self._fetches[fetch.project_id, fetch.example] = fetch
            self._wake_loop()

    def _on_conversion(self, conversion: Conversion) -> None:
        with self._lock:
            self._conversions[conversion.id] = conversion
            self._wake_loop()

    def _wake_loop(self) -> None:
        if self._loop is not None and not self._is_called:
            self._is_called = True
            with contextlib.suppress(RuntimeError):  # the loop has just ended
                self._loop.call_soon_threadsafe(self._publish_queued)

    def _publish_queued(self) -> None:
        with self._lock:
            self._is_called = False
            events, self._unheard = [*self._unheard], deque()
            standings, self._standings = [*self._standings.values()], {}
            fetches, self._fetches = [*self._fetches.values()], {}
            conversions, self._conversions = [*self._conversions.values()], {}
            lost, self._lost = self._lost, 0
        if lost:
            self._last = max(self._last, lost)
            for listener in self._listeners.values():
                for room, heard in [*listener.rooms.items()]:
                    self._catch_up(listener, room, heard)
        for event in events:
            self._last = max(self._last, event.number)
            self._publish(pack(message_of(event)))
        for job, standing in standings:
            self._publish(_pack_progress(job, standing))
        for fetch in fetches:
            self._publish(_pack_fetch(fetch))
        for conversion in conversions:
            self._publish(_pack_conversion(conversion))

    def _publish(self, packed: Packed) -> None:
        for listener in [*self._listeners.values()]:
            if not listener.send(packed):
                room = listener.room_for(packed)
                self._catch_up(listener, room, listener.rooms[room])

    # ------------------------------------------------------------ clients come and go

    async def _connect(self, sid: str, _environ: object, auth: object = None) -> None:
        # What the server itself stored, never what came along with a packet.
        environ = self._sio.get_environ(sid, NAMESPACE)
        try:
            caller: Caller | None = self._access.identify_socket_client(environ["asgi.scope"], auth)
            refusal = TOKEN
        except ModeldynoError as error:
            caller, refusal = None, refusal_of(error)
        if caller is None:
            raise Refused(refusal.title, _refusal_body(refusal))
        after = auth.get("after") if isinstance(auth, dict) else None
        is_number = type(after) is int and 0 <= after <= _MOST_NUMBER
        line = self._sio.manager.eio_sid_from_sid(sid, NAMESPACE)
        listener = Listener(sid, line, caller, after if is_number else None)
        self._listeners[sid] = listener
        self._allowances[sid] = Allowance(WISHES_PER_S, WISHES_AT_ONCE)
        listener.sending = asyncio.create_task(self._send_waiting(listener))
        listener.sending.add_done_callback(log_failure)

    async def _disconnect(self, sid: str, _reason: object = None) -> None:
        listener = self._listeners.get(sid)
        if listener is not None:
            self._forget_listener(listener)

    def _forget_listener(self, listener: Listener) -> None:
        self._listeners.pop(listener.sid, None)
        self._allowances.pop(listener.sid, None)
        listener.end()

    def _dismiss_listener(self, listener: Listener, refusal: Refusal) -> None:
        """Say why, and end the connection; what waited for this client is in the database."""
        goodbye = _refusal_body(refusal) | {"after": listener.heard}
        goodbye["fix"] = refusal.fix.format(after=listener.heard)
        logger.info("a listener was sent away: %s", refusal.title)
        self._forget_listener(listener)
        self._start_task(
            self._say_goodbye(listener, goodbye, is_welcome=refusal in (TOO_SLOW, LATER))
        )

    async def _say_goodbye(
        self, listener: Listener, goodbye: dict[str, Any], is_welcome: bool
    ) -> None:
        """Clients come back by themselves, except when the namespace is closed to them first."""
        await self._sio.emit(GOODBYE, goodbye, to=listener.sid, namespace=NAMESPACE)
        if not is_welcome:
            await self._sio.disconnect(listener.sid, namespace=NAMESPACE)
        await self._close_line(listener.line)

    async def _close_line(self, line: str) -> None:
        """Engine.IO waits until everything before was taken, which may be never."""
        socket = self._connection_of(line)
        if socket is None:
            return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(PONG_S):
                await self._sio.eio.disconnect(line)
        await socket.queue.put(None)  # it says that it is over, but does not close a web socket

    def _start_task(self, doing: Any) -> None:
        task = asyncio.ensure_future(doing)
        self._partings.add(task)
        task.add_done_callback(self._partings.discard)
        task.add_done_callback(log_failure)

    async def _watch(self) -> None:
        """One round. Connections last; what let them in may not."""
        await asyncio.sleep(self._patience.recheck_s)
        callers = {listener.caller for listener in self._listeners.values()}
        callers |= self.broadcast.callers
        gone = await asyncio.to_thread(self._find_no_longer_allowed, callers) if callers else set()
        now_s = time.monotonic()
        for listener in [*self._listeners.values()]:
            since_s = listener.stuck_since
            if listener.caller in gone:
                self._dismiss_listener(listener, NO_LONGER)
            elif since_s is not None and now_s - since_s > self._patience.stuck_s:
                self._dismiss_listener(listener, TOO_SLOW)
        self.broadcast.revoke(gone)
        self._drop_strangers(now_s)

    def _find_no_longer_allowed(self, callers: set[Caller]) -> set[Caller]:
        return {caller for caller in callers if not self._is_still_allowed(caller)}

    def _is_still_allowed(self, caller: Caller) -> bool:
        """A caller who cannot be checked is out, and does not keep others from being checked."""
        try:
            return self._access.is_still_allowed(caller)
        except ModeldynoError:  # the token's file became unusable: all are out
            return False
        except Exception:
            logger.exception("a listener's right to listen cannot be checked")
            return False

    def _find_strangers(self) -> list[str]:
        """Lines of clients that are in no namespace."""
        manager = self._sio.manager
        spaces = [*manager.get_namespaces()]
        return [
            line
            for line in self._sio.environ
            if not any(manager.sid_from_eio_sid(line, space) for space in spaces)
        ]

    def _refuse(self, scope: Any) -> Refusal | None:
        """Whether one more stranger may have a line; a client with token or cookie is none."""
        caller: Caller | None = scope.get(CALLER)
        is_known = caller is not None and caller != OPEN_DOOR
        if is_known or len(self._find_strangers()) < MOST_STRANGERS:
            return None
        return TOO_MANY_STRANGERS

    def _drop_strangers(self, now_s: float) -> None:
        self._seen_at = {line: self._seen_at.get(line, now_s) for line in self._find_strangers()}
        for line, since_s in [*self._seen_at.items()]:
            if now_s - since_s > self._patience.introduce_s:
                del self._seen_at[line]
                self._start_task(self._close_line(line))

    # ------------------------------------------------------------ what clients say

    async def _on_message(self, word: str, sid: str, *said: object) -> dict[str, Any] | None:
        listener = self._listeners.get(sid)
        if listener is None:
            return None
        if not self._allowances[sid].try_to_spend():
            self._dismiss_listener(listener, TOO_FAST)
            return _refusal_answer(TOO_FAST)
        try:
            async with listener.turns:
                return await self._answer_message(listener, word, said)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(str(part)[:50] for part in first["loc"]) or "message"
            return _refusal_answer(
                Refusal(422, "BAD_VALUE", f"{where}: {first['msg'][:200]}", "", "")
            )
        except ModeldynoError as error:
            return _refusal_answer(refusal_of(error))
        except Exception:
            logger.exception("a listener's %r failed", word[:50])
            return _refusal_answer(LATER)

    async def _answer_message(
        self, listener: Listener, word: str, said: tuple[object, ...]
    ) -> dict[str, Any]:
        body = said[0] if said else {}
        if len(said) > 1:
            return _refusal_answer(UNKNOWN)
        match word:
            case "subscribe":
                return await self._subscribe(listener, SubscribeRequest.model_validate(body))
            case "unsubscribe":
                request = UnsubscribeRequest.model_validate(body)
                for room in (request.project_id,) if request.project_id else listener.all_rooms:
                    listener.leave(room)
                return {"ok": True, "last": self._last}
            case "ping":
                return {"ok": True, "last": self._last}
            case _:
                return _refusal_answer(UNKNOWN)

    async def _subscribe(self, listener: Listener, request: SubscribeRequest) -> dict[str, Any]:
        """Live from now on, or after what it heard last; the answer comes before either."""
        room: Room = request.project_id
        after = request.after if request.after is not None else listener.after
        last, first = await asyncio.to_thread(self._replay_range, after)
        if listener.sid not in self._listeners:  # it left meanwhile, and does not read this
            return _refusal_answer(LATER)
        if after is None and room in listener.all_rooms:  # and so it stays
            return {"ok": True, "last": last, "is_complete": True}
        is_complete = after is None or (first is not None and after <= last)
        # Everything and single projects exclude each other, so that nothing is sent twice.
        for other in listener.all_rooms:
            if other is None or room is None:
                listener.leave(other)
        if room not in listener.all_rooms and len(listener.all_rooms) >= MOST_ROOMS:
            return _refusal_answer(TOO_MANY_ROOMS)
        start = after if after is not None and is_complete else last
        listener.after = None  # that was for the first wish
        self._catch_up(listener, room, start)
        return {"ok": True, "last": last, "is_complete": is_complete}

    def _replay_range(self, after: int | None) -> tuple[int, int | None]:
        """The newest number; and None when something after ``after`` was forgotten."""
        last = self._events.last_number()
        if after is None:
            return last, last
        return last, (after if self._events.since(after, 1).is_complete else None)

    # ------------------------------------------------------------ what they hear

    def _catch_up(self, listener: Listener, room: Room, after: int) -> None:
        listener.leave(room)
        listener.caught_up[room] = after
        listener.catching_up[room] = asyncio.create_task(self._read_on(listener, room, after))

    async def _read_on(self, listener: Listener, room: Room, after: int) -> None:
        """From the database until it has caught up with live events; then it gets those."""
        try:
            while True:
                await listener.wait_for_room()
                last, missed = await asyncio.to_thread(self._read_missed, after, room)
                if not missed.is_complete:
                    self._dismiss_listener(listener, TOO_SLOW)
                    return
                batch = missed.events
                for event in batch:
                    packed = pack(message_of(event))
                    while not listener.offer(packed):
                        await listener.wait_for_room()
                    listener.caught_up[room] = event.number
                is_all = len(batch) < _MISSED_AT_ONCE
                after = max(after, last if is_all else 0, batch[-1].number if batch else 0)
                if is_all and after >= self._last:
                    break
        except Exception:  # whatever it is: a listener that gets nothing more has to know
            logger.exception("a listener cannot be sent what it missed")
            listener.catching_up.pop(room, None)  # which is this task
            self._dismiss_listener(listener, LATER)
            return
        # No await since the comparison: what comes next is newer than what was read.
        listener.enter(room, after)

    def _read_missed(self, after: int, room: Room) -> tuple[int, EventsSince]:
        last = self._events.last_number()  # first: whatever it counts is found below
        return last, self._events.since(after, _MISSED_AT_ONCE, room)

    async def _send_waiting(self, listener: Listener) -> None:
        """Hands over a few at a time, and more only when those were taken."""
        # Its connection is gone, and `_disconnect` follows.
        with contextlib.suppress(EngineIOError, OSError):
            while True:
                await listener.wait_for_news()
                for packed in listener.take(_SENT_AT_ONCE):
                    await self._sio.eio.send(listener.line, packed.text)
                line = self._connection_of(listener.line)
                if line is None:
                    return
                await line.queue.join()

    def _connection_of(self, name: str) -> Any:
        """Engine.IO's connection of that name, or None."""
        return self._sio.eio.sockets.get(name)


class _TextPacket(socketio.packet.Packet):  # type: ignore[misc]  # it ships no types
    """JSON alone: no packet with bytes attached, in or out. And no event of a reserved name:
    python-socketio would call the handler of that name with whatever the client sent."""

    uses_binary_events = False

    def decode(self, encoded_packet: Any) -> Any:
        attachments = super().decode(encoded_packet)
        if attachments or self.packet_type in (packet.BINARY_EVENT, packet.BINARY_ACK):
            raise ValueError("bytes are not taken")
        if self.packet_type == packet.EVENT and not _is_event(self.data):
            raise ValueError("this is not an event that a client may send")
        return attachments


def _is_event(data: object) -> bool:
    return (
        isinstance(data, list)
        and bool(data)
        and isinstance(data[0], str)
        and data[0] not in RESERVED
    )


def _make_socket_server(origins: Iterable[bytes]) -> Any:
    # It would log what anybody sends; what matters is logged here.
    quiet = logging.getLogger(f"{__name__}.protocol")
    quiet.setLevel(logging.CRITICAL)
    return socketio.AsyncServer(
        async_mode="asgi",
        namespaces=[NAMESPACE, broadcast.NAMESPACE],
        cors_allowed_origins=[origin.decode() for origin in origins],
        max_http_buffer_size=MESSAGE_BYTES,
        http_compression=False,
        ping_interval=PING_S,
        ping_timeout=PONG_S,
        serializer=_TextPacket,
        logger=quiet,
        engineio_logger=quiet,
    )


def _pack_progress(job: Job, standing: JobProgress) -> Packed:
    data = JobProgressDocument.of(
        standing.progress,
        standing.units_planned,
        headline=without_folders(standing.headline),  # a job names its model by its path
        notices=tuple(map(without_folders, standing.notices)),
        id=job.id,
        run_id=job.run_id,
    )
    message = ProgressMessage(project_id=job.project_id, at=iso(datetime.now(UTC)), data=data)
    return pack(encode(message), about=job.id)


def _pack_fetch(fetch: ExampleFetch) -> Packed:
    data = FetchStanding.from_fields(fetch)
    message = FetchMessage(project_id=fetch.project_id, at=iso(datetime.now(UTC)), data=data)
    return pack(encode(message), about=(fetch.project_id, fetch.example))


def _pack_conversion(conversion: Conversion) -> Packed:
    data = ConversionStanding.from_fields(conversion)
    project_id, at = conversion.project_id, iso(datetime.now(UTC))
    message = ConversionMessage(project_id=project_id, at=at, data=data)
    return pack(encode(message), about=("conversion", conversion.id))


def _refusal_body(refusal: Refusal) -> dict[str, Any]:
    return {
        "code": refusal.code,
        "title": refusal.title,
        "detail": refusal.why,
        "fix": refusal.fix,
    }


def _refusal_answer(refusal: Refusal) -> dict[str, Any]:
    return {"ok": False, **_refusal_body(refusal)}
