"""Events as they become rows, for whoever listens; each once, in the order of their numbers."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from modeldyno.core.errors import ModeldynoError
from modeldyno.core.events import Event
from modeldyno.store.database import Database
from modeldyno.store.records.events import EventRecords

logger = logging.getLogger(__name__)

LOOK_AGAIN_S = 2.0  # rows of other processes: nobody wakes us for those
KEPT = 50_000  # rows; who was away for longer fetches everything anew
_AT_ONCE = 500
_TIDY_EVERY = 1000  # events

Tell = Callable[[Event], None]


class EventFeed:
    """One thread reads; listeners are called in it and must be quick."""

    def __init__(self, database: Database, events: EventRecords) -> None:
        self._events = events
        self._listeners: list[Tell] = []
        self._news = threading.Event()
        self._is_closing = False
        self._last = 0
        self._thread = threading.Thread(target=self._work, name="events", daemon=True)
        database.on_write(self._news.set)

    def on_event(self, tell: Tell) -> None:
        self._listeners.append(tell)

    def start(self) -> None:
        """From here on; what happened before is in the database for who asks."""
        self._events.forget(KEPT)
        self._last = self._events.last_number()
        self._thread.start()

    def close(self) -> None:
        self._is_closing = True
        self._news.set()
        if self._thread.is_alive():
            self._thread.join(5.0)

    def _work(self) -> None:
        while not self._is_closing:
            self._news.wait(LOOK_AGAIN_S)
            self._news.clear()
            try:
                self._read_on()
            except ModeldynoError as error:
                logger.warning("events cannot be read for now: %s", error)
            except Exception:
                logger.exception("the feed of events stumbled")  # our bug; it goes on

    def _read_on(self) -> None:
        before = self._last
        while found := self._events.since(self._last, _AT_ONCE).events:
            for event in found:
                self._last = event.number  # first: each is told once, whatever comes of it
                self._tell(event)
        if self._last // _TIDY_EVERY != before // _TIDY_EVERY:
            self._events.forget(KEPT)

    def _tell(self, event: Event) -> None:
        for tell in self._listeners:
            try:
                tell(event)
            except Exception:
                logger.exception("event %s: a listener failed", event.number)
