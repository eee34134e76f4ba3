"""Rate limit for failed authentication attempts, per client."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from math import ceil

ALLOWED = 10
WINDOW_S = 60.0


class FailedAttempts:
    """Remembers at most ``max_clients``; the one that failed longest ago is dropped first."""

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, max_clients: int = 1024
    ) -> None:
        self._clock = clock
        self._max_clients = max_clients
        self._times: OrderedDict[str, deque[float]] = OrderedDict()
        self._lock = threading.Lock()

    def count_and_delay_s(self, client: str) -> int:
        """Record a failure. 0 while the client may try again at once, else the seconds to wait."""
        now = self._clock()
        with self._lock:
            times = self._times.setdefault(client, deque(maxlen=ALLOWED))
            self._times.move_to_end(client)
            if len(self._times) > self._max_clients:
                self._times.popitem(last=False)
            while times and times[0] <= now - WINDOW_S:
                times.popleft()
            if len(times) < ALLOWED:
                times.append(now)
                return 0
            return max(1, ceil(times[0] + WINDOW_S - now))
