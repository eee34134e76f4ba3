"""The machine that measured each run."""

from __future__ import annotations

from typing import Any

from modeldyno.core.ids import RunId
from modeldyno.services.lru_cache import LruCache
from modeldyno.store.history import History

MAX_RUNS = 1000  # the longest lists, and the baselines they are compared with


class RunHosts:
    """Cached: lists ask for the same runs again and again, and results are long to read."""

    def __init__(self, history: History) -> None:
        self._history = history
        self._cache = LruCache[RunId, dict[str, Any]](MAX_RUNS)

    def read_cached(self, run_id: RunId) -> dict[str, Any] | None:
        """The stored host facts; None while the run has no result."""
        host = self._cache.get(run_id)
        if host is None:
            host = self._history.host(run_id)
            if host is not None:
                self._cache.put(run_id, host)
        return host
