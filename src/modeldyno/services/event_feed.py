"""Passes events on to listeners as they become rows: each once, in the order of their numbers."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from modeldyno.core.errors import ModeldynoError
from modeldyno.core.events import Event
from modeldyno.store.database import Database
from modeldyno.store.records.events import EventRecords

logger = logging.getLogger(__name__)

POLL_S = 2.0  # for rows written by other processes
KEPT = 50_000  # rows; a client that missed more fetches everything again
_BATCH = 500
_PRUNE_EVERY = 1000  # events

EventListener = Callable[[Event], None]


class EventFeed:
    """One thread reads; listeners are called in it and must be quick."""

    def __init__(self, database: Database, events: EventRecords) -> None:
        self._events = events
        self._listeners: list[EventListener] = []
        self._news = threading.Event()
        self._is_closing = False
        self._last = 0
        self._thread = threading.Thread(target=self._run_thread, name="events", daemon=True)
        database.add_write_listener(self._news.set)

    def on_event(self, listener: EventListener) -> None:
        self._listeners.append(listener)

    def start(self) -> None:
        """From the next event on; clients read earlier ones from the database."""
        self._events.forget(KEPT)
        self._last = self._events.last_number()
        self._thread.start()

    def close(self) -> None:
        self._is_closing = True
        self._news.set()
        if self._thread.is_alive():
            self._thread.join(5.0)

    def _run_thread(self) -> None:
        while not self._is_closing:
            self._news.wait(POLL_S)
            self._news.clear()
            try:
                self._publish_new_events()
            except ModeldynoError as error:
                logger.warning("events cannot be read at the moment: %s", error)
            except Exception:
                logger.exception("the event feed failed; it keeps running")

    def _publish_new_events(self) -> None:
        before = self._last
        while events := self._events.since(self._last, _BATCH).events:
            for event in events:
                self._last = event.number  # first: each is passed on once, even if that fails
                self._notify(event)
        if self._last // _PRUNE_EVERY != before // _PRUNE_EVERY:
            self._events.forget(KEPT)

    def _notify(self, event: Event) -> None:
        for listener in self._listeners:
            try:
                listener(event)
            except Exception:
                logger.exception("event %s: a listener failed", event.number)
