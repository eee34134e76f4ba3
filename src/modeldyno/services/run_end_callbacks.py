"""Who waits for a run is told once it is over, in the thread that has the news."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from modeldyno.core.events import Event
from modeldyno.core.ids import RunId
from modeldyno.core.runs import ACTIVE

Tell = Callable[[], None]


class RunEndCallbacks:
    """Of events as they come. Whoever begins to wait must look once whether it is over already."""

    def __init__(self) -> None:
        self._waiting: defaultdict[RunId, list[Tell]] = defaultdict(list)
        self._lock = threading.Lock()

    def hear(self, event: Event) -> None:
        """An event without a state tells that the run is gone: that is an end, too."""
        run_id = event.payload.get("run_id")
        if event.kind not in ("run.changed", "run.deleted") or run_id is None:
            return
        if event.payload.get("state") not in ACTIVE:
            with self._lock:
                told = tuple(self._waiting.get(RunId(run_id), ()))
            for tell in told:
                tell()

    @contextmanager
    def waiting(self, run_id: RunId, tell: Tell) -> Iterator[None]:
        """``tell`` must be quick, and may be called more than once."""
        with self._lock:
            self._waiting[run_id].append(tell)
        try:
            yield
        finally:
            with self._lock:
                self._waiting[run_id].remove(tell)
                if not self._waiting[run_id]:
                    del self._waiting[run_id]
