"""Callbacks at the end of a run, called in the thread of the event feed."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from modeldyno.core.events import Event
from modeldyno.core.ids import RunId
from modeldyno.core.runs import ACTIVE

OnEnd = Callable[[], None]


class RunEndCallbacks:
    """From events: a run that has already ended causes no call, so check once after registering."""

    def __init__(self) -> None:
        self._callbacks: defaultdict[RunId, list[OnEnd]] = defaultdict(list)
        self._lock = threading.Lock()

    def call_on_end(self, event: Event) -> None:
        """An event without a state says that the run was deleted, which counts as its end."""
        run_id = event.payload.get("run_id")
        if event.kind not in ("run.changed", "run.deleted") or run_id is None:
            return
        if event.payload.get("state") not in ACTIVE:
            with self._lock:
                callbacks = tuple(self._callbacks.get(RunId(run_id), ()))
            for on_end in callbacks:
                on_end()

    @contextmanager
    def registered(self, run_id: RunId, on_end: OnEnd) -> Iterator[None]:
        """``on_end`` must be quick, and may be called more than once."""
        with self._lock:
            self._callbacks[run_id].append(on_end)
        try:
            yield
        finally:
            with self._lock:
                self._callbacks[run_id].remove(on_end)
                if not self._callbacks[run_id]:
                    del self._callbacks[run_id]
