"""On which machine each run was measured."""

from __future__ import annotations

from typing import Any

from modeldyno.core.ids import RunId
from modeldyno.services.lru_cache import LruCache
from modeldyno.store.history import History

MOST = 1000  # runs: those of the longest lists, and of what they are held against


class RunHosts:
    """Kept in mind: lists ask again and again, and a result is long to read."""

    def __init__(self, history: History) -> None:
        self._history = history
        self._known = LruCache[RunId, dict[str, Any]](MOST)

    def of(self, run_id: RunId) -> dict[str, Any] | None:
        """Its facts as they are kept; None before there is a result to tell them."""
        found = self._known.find(run_id)
        if found is None:
            found = self._history.host(run_id)
            if found is not None:
                self._known.remember(run_id, found)
        return found
