"""How often somebody failed to show a token lately."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from math import ceil

ALLOWED = 10
WINDOW_S = 60.0
MOST_CLIENTS = (
    1024  # memory stays bounded whoever asks; the one that failed longest ago is forgotten
)


class Failures:
    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._of: OrderedDict[str, deque[float]] = OrderedDict()
        self._lock = threading.Lock()

    def count(self, client: str) -> int:
        """One more. 0 while it may be answered as usual, else the seconds to wait."""
        now = self._clock()
        with self._lock:
            times = self._of.setdefault(client, deque(maxlen=ALLOWED))
            self._of.move_to_end(client)
            if len(self._of) > MOST_CLIENTS:
                self._of.popitem(last=False)
            while times and times[0] <= now - WINDOW_S:
                times.popleft()
            if len(times) < ALLOWED:
                times.append(now)
                return 0
            return max(1, ceil(times[0] + WINDOW_S - now))
