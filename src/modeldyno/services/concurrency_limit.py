"""A limit on concurrent work that refuses further callers instead of letting them wait."""

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
    def slot(self) -> Iterator[None]:
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
