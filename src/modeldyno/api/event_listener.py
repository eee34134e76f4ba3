"""One client that listens to events, and what waits to be sent to it: bounded, whatever happens.

A client that reads slowly loses progress first: the next one makes up for it. When not even the
events fit, it has to get them from the database, as fast as it reads. Nothing here does I/O.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections import deque
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Any

from modeldyno.api.access import Caller

MOST_MESSAGES = 500
MOST_BYTES = 1 << 20
# A longer queue is that of a slow reader, which gets no progress.
ROOM_FOR_PROGRESS = 50

NAMESPACE = "/v1"
EVENT = "event"

Room = int | None  # a project, or everything


@dataclass(frozen=True)
class Packed:
    """A message as it goes out: encoded once, however many listen."""

    text: str
    number: int | None
    project_id: int | None
    about: Hashable = None  # the job or the fetch, for progress

    @property
    def size(self) -> int:
        return len(self.text)


def pack(message: Mapping[str, Any], about: Hashable = None) -> Packed:
    """Socket.IO's own form of an event: its type, its namespace, then JSON (ASCII)."""
    body = json.dumps([EVENT, message], separators=(",", ":"))
    return Packed(f"2{NAMESPACE},{body}", message["number"], message["project_id"], about)


class Allowance:
    """How often something may be done: ``burst`` at once, then so many a second."""

    def __init__(
        self, per_s: float, burst: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._per_s, self._burst, self._clock = per_s, burst, clock
        self._left, self._at = float(burst), clock()

    def try_to_spend(self) -> bool:
        now = self._clock()
        self._left = min(self._burst, self._left + (now - self._at) * self._per_s)
        self._at = now
        if self._left < 1:
            return False
        self._left -= 1
        return True


class Listener:
    def __init__(
        self,
        sid: str,
        line: str,
        caller: Caller,
        after: int | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._clock = clock
        self.stuck_since: float | None = None  # it took nothing of what waits since then
        self.sid = sid
        self.line = line  # Engine.IO's name for the connection
        self.caller = caller
        self.after = after  # what it heard last, as it said when it connected
        self.rooms: dict[Room, int] = {}  # those it hears live, and the last number of each
        self.catching_up: dict[Room, asyncio.Task[None]] = {}
        self.caught_up: dict[Room, int] = {}  # and those so far, of the others
        self.turns = asyncio.Lock()  # its wishes are met one after another
        self.sending: asyncio.Task[None] | None = None
        self._waiting: deque[Packed] = deque()
        self._bytes = 0
        self._news = asyncio.Event()
        self._room = asyncio.Event()
        self._room.set()

    @property
    def waiting(self) -> int:
        """Messages."""
        return len(self._waiting)

    @property
    def waiting_bytes(self) -> int:
        return self._bytes

    @property
    def heard(self) -> int:
        """It was sent everything up to this one, in all of its rooms."""
        waiting = [packed.number - 1 for packed in self._waiting if packed.number is not None]
        return min((*waiting, *self.rooms.values(), *self.caught_up.values()), default=0)

    def room_for(self, packed: Packed) -> Room:
        return None if None in self.rooms else packed.project_id

    def send(self, packed: Packed) -> bool:
        """Once, and in its order, if it is in a room for that; False as of ``offer``."""
        room = self.room_for(packed)
        if room not in self.rooms:
            return True
        if packed.number is None:
            return self.offer(packed)
        if packed.number > self.rooms[room]:
            if not self.offer(packed):
                return False
            self.rooms[room] = packed.number
        return True

    def enter(self, room: Room, last: int) -> None:
        """From here on it hears what is newer than ``last``."""
        self.catching_up.pop(room, None)
        self.caught_up.pop(room, None)
        self.rooms[room] = last

    def leave(self, room: Room) -> None:
        self.rooms.pop(room, None)
        self.caught_up.pop(room, None)
        if task := self.catching_up.pop(room, None):
            task.cancel()

    @property
    def all_rooms(self) -> tuple[Room, ...]:
        return (*self.rooms, *self.catching_up)

    def end(self) -> None:
        for room in self.all_rooms:
            self.leave(room)
        if self.sending is not None:
            self.sending.cancel()

    def offer(self, packed: Packed) -> bool:
        """False: there is no room left, and this may not be lost."""
        if packed.number is None:
            self._offer_progress(packed)
            return True
        if not self._has_room_for(packed):
            self._drop_where(lambda waiting: waiting.number is None)
        if not self._has_room_for(packed):
            return False
        self._append(packed)
        return True

    def _offer_progress(self, packed: Packed) -> None:
        self._drop_where(lambda waiting: waiting.number is None and waiting.about == packed.about)
        if len(self._waiting) < ROOM_FOR_PROGRESS and self._has_room_for(packed):
            self._append(packed)

    def take(self, most: int) -> list[Packed]:
        """The next to be sent, oldest first."""
        taken = [self._waiting.popleft() for _ in range(min(most, len(self._waiting)))]
        self._bytes -= sum(packed.size for packed in taken)
        self.stuck_since = self._clock() if self._waiting else None
        self._signal()
        return taken

    async def wait_for_news(self) -> None:
        """Until something waits."""
        await self._news.wait()

    async def wait_for_room(self) -> None:
        """Until at least half of the room is free: the rest is read only as fast as it is sent."""
        await self._room.wait()

    def _has_room_for(self, packed: Packed) -> bool:
        return len(self._waiting) < MOST_MESSAGES and self._bytes + packed.size <= MOST_BYTES

    def _append(self, packed: Packed) -> None:
        if not self._waiting:
            self.stuck_since = self._clock()
        self._waiting.append(packed)
        self._bytes += packed.size
        self._signal()

    def _drop_where(self, unwanted: Callable[[Packed], bool]) -> None:
        if any(unwanted(packed) for packed in self._waiting):
            self._waiting = deque(packed for packed in self._waiting if not unwanted(packed))
            self._bytes = sum(packed.size for packed in self._waiting)
            self._signal()

    def _signal(self) -> None:
        is_roomy = len(self._waiting) <= MOST_MESSAGES // 2 and self._bytes <= MOST_BYTES // 2
        for event, is_so in ((self._news, bool(self._waiting)), (self._room, is_roomy)):
            if is_so:
                event.set()
            else:
                event.clear()
