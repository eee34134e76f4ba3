"""Bodies sent last, as bytes: to write thousands of nodes down takes longer than all the rest."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable

MOST_BYTES = 32 << 20


class KeptBytes:
    """By whatever tells one from another; those not asked for longest give way."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._kept: OrderedDict[Hashable, bytes] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, key: Hashable, make: Callable[[], bytes]) -> bytes:
        with self._lock:
            known = self._kept.get(key)
        body = known or make()
        with self._lock:
            self._kept[key] = body
            self._kept.move_to_end(key)
            while sum(map(len, self._kept.values())) > self._most_bytes:
                self._kept.popitem(last=False)
        return body
