"""Writes to the database about a running job, made in a thread so that no measurement waits for it.

Writes are keyed; a newer write for the same key replaces an older one that is still pending.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from modeldyno.core.errors import ModeldynoError

logger = logging.getLogger(__name__)

RETRY_S = 1.0

Write = Callable[[], object]


class LatestWrites:
    def __init__(self, retry_s: float = RETRY_S) -> None:
        self._retry_s = retry_s
        self._pending: dict[str, Write] = {}
        self._changed = threading.Condition()
        self._clears = 0
        self._is_writing = False
        self._is_closed = False
        self._thread = threading.Thread(target=self._run_thread, name="latest-writes", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def put(self, key: str, write: Write) -> None:
        """Retried while the database is unreachable, until a newer write replaces it."""
        with self._changed:
            self._pending[key] = write
            self._changed.notify_all()

    def clear(self) -> None:
        """Drop what is pending and wait for the write in progress: none comes after this."""
        with self._changed:
            self._clears += 1
            self._pending.clear()
            self._changed.wait_for(lambda: not self._is_writing)

    def close(self) -> None:
        self.clear()
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()

    def _run_thread(self) -> None:
        while (next_write := self._wait_for_write()) is not None:
            key, write, clears = next_write
            is_done = _try_to_write(write)
            with self._changed:
                self._is_writing = False
                self._changed.notify_all()
                if not is_done and clears == self._clears:
                    self._pending.setdefault(key, write)
                    self._changed.wait(self._retry_s)

    def _wait_for_write(self) -> tuple[str, Write, int] | None:
        with self._changed:
            self._changed.wait_for(lambda: self._pending or self._is_closed)
            if self._is_closed:
                return None
            key = next(iter(self._pending))
            self._is_writing = True
            return key, self._pending.pop(key), self._clears


def _try_to_write(write: Write) -> bool:
    """False if it is worth another try."""
    try:
        write()
    except ModeldynoError as error:
        logger.warning("not written yet: %s", error)
        return False
    except Exception:
        logger.exception("this will not be written")
    return True
