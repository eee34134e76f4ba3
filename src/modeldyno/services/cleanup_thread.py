"""Removes unused files: at startup, after each deletion, and every hour."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from modeldyno.core.events import Event

logger = logging.getLogger(__name__)

INTERVAL_S = 3600.0

Sweep = Callable[[], object]


class CleanupThread:
    """In its own thread, so that deletions do not wait for the disk."""

    def __init__(self, *sweeps: Sweep) -> None:
        self._sweeps = sweeps
        self._wake = threading.Event()
        self._is_closing = False
        self._thread = threading.Thread(target=self._run_thread, name="cleanup", daemon=True)

    def start(self) -> None:
        self._wake.set()
        self._thread.start()

    def hear(self, event: Event) -> None:
        if event.kind.endswith(".deleted"):
            self._wake.set()

    def close(self) -> None:
        self._is_closing = True
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join(5.0)

    def _run_thread(self) -> None:
        while True:
            self._wake.wait(INTERVAL_S)
            self._wake.clear()
            if self._is_closing:
                return
            for sweep in self._sweeps:
                try:
                    sweep()
                except Exception:
                    logger.exception("cleanup failed; it will be tried again")
