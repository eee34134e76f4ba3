"""What was used last, in memory."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Generic, TypeVar

MOST = 200

K = TypeVar("K")
V = TypeVar("V")


class LruCache(Generic[K, V]):
    """Those not used longest give way; threads may share it."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._known: OrderedDict[K, V] = OrderedDict()
        self._lock = threading.Lock()

    def find(self, key: K) -> V | None:
        with self._lock:
            found = self._known.get(key)
            if found is not None:
                self._known.move_to_end(key)
            return found

    def remember(self, key: K, value: V) -> None:
        with self._lock:
            self._known[key] = value
            self._known.move_to_end(key)
            while len(self._known) > self._most:
                self._known.popitem(last=False)
