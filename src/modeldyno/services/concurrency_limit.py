"""So many at once, and all beyond are told to come back: nobody waits without end for a thread."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from modeldyno.core.errors import TooBusy


class ConcurrencyLimit:
    """``doing`` completes "4 files are …"."""

    def __init__(self, most: int, doing: str, why: str) -> None:
        self._most = most
        self._doing = doing
        self._why = why
        self._free = threading.BoundedSemaphore(most)

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Raises TooBusy."""
        if not self._free.acquire(blocking=False):
            raise TooBusy(
                f"{self._most} files are {self._doing} already",
                why=self._why,
                fix="Wait until one is done, then try again",
            )
        try:
            yield
        finally:
            self._free.release()
