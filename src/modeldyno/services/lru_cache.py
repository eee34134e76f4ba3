"""An LRU cache that several threads may share."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class LruCache(Generic[K, V]):
    """Keeps entries up to a total size; by default, each counts as one."""

    def __init__(self, max_size: int = 200, size_of: Callable[[V], int] = lambda _: 1) -> None:
        self._max_size = max_size
        self._size_of = size_of
        self._entries: OrderedDict[K, V] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: K) -> V | None:
        with self._lock:
            if key in self._entries:
                self._entries.move_to_end(key)
            return self._entries.get(key)

    def put(self, key: K, value: V) -> None:
        with self._lock:
            self._entries[key] = value
            self._entries.move_to_end(key)
            while sum(map(self._size_of, self._entries.values())) > self._max_size:
                self._entries.popitem(last=False)
