"""Watches the folders of runs, so that what the terminal measures appears in the server."""

from __future__ import annotations

import logging
import threading
from pathlib import Path

from modeldyno.core.errors import ModeldynoError
from modeldyno.core.ids import RunId
from modeldyno.store.history import History
from modeldyno.store.indexing import RunIndex, delete_folders_of_deleted_runs
from modeldyno.store.records.all import Records
from modeldyno.store.runs import RunFolders

logger = logging.getLogger(__name__)

POLL_S = 2.0
FULL_CHECK_EVERY = 30  # polls: finds old runs that are resumed in a terminal
_NEWEST = 20  # runs that are watched; a new one changes the parent folder

_Snapshot = tuple[object, ...]


class FolderWatch:
    """A poll costs a few system calls; the database is queried only after a change. Folders of
    deleted runs are removed soon after their rows."""

    def __init__(
        self,
        records: Records,
        history: History,
        root: Path,
        poll_s: float = POLL_S,
    ) -> None:
        self._records = records
        self._history = history
        self._root = root
        self._poll_s = poll_s
        self._index = RunIndex(records.database, history)
        self._root_changed: int | None = None
        self._newest: tuple[RunId, ...] = ()
        self._others: tuple[RunId, ...] = ()  # active, or unreadable
        self._last: _Snapshot = ()
        self._has_writes = threading.Event()  # of rows: some may be deleted
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run_thread, name="folders", daemon=True)

    def start(self) -> None:
        self._records.database.add_write_listener(self._has_writes.set)
        self._has_writes.set()
        self._thread.start()

    def close(self) -> None:
        self._closing.set()
        if self._thread.is_alive():
            self._thread.join(5.0)

    def _run_thread(self) -> None:
        polls = 0
        while not self._closing.is_set():
            polls += 1
            try:
                self._poll(full=polls % FULL_CHECK_EVERY == 0)
            except ModeldynoError as error:
                logger.warning("runs of the terminal cannot be indexed at the moment: %s", error)
            except Exception:
                logger.exception("the watch over run folders failed; it keeps running")
            self._closing.wait(self._poll_s)

    def _poll(self, *, full: bool) -> None:
        if self._has_writes.is_set() or full:
            self._has_writes.clear()
            delete_folders_of_deleted_runs(self._records.runs, self._root)
        if full:
            RunFolders(self._root).delete_renamed_scratch()
        if self._take_snapshot() != self._last or full:
            self._others = self._index.index_changed_runs().unreadable
            self._others += tuple(run.id for run in self._records.runs.active())
            self._last = self._take_snapshot()

    def _take_snapshot(self) -> _Snapshot:
        """Changes when a run appears, is removed, or when one of the watched ones changes."""
        changed = _modification_time(self._root)
        if changed != self._root_changed:
            self._root_changed, self._newest = changed, tuple(self._history.list_ids()[:_NEWEST])
        watched = dict.fromkeys((*self._newest, *self._others))
        return (changed, *map(self._run_state, watched))

    def _run_state(self, run_id: RunId) -> tuple[int, str]:
        """Includes its state: that of a killed process changes without a change of files."""
        folder = self._history.folder(run_id)
        changed = _modification_time(folder.path / "state.json")
        try:
            return changed, folder.state()
        except (OSError, ValueError, KeyError, TypeError):
            return changed, "unreadable"


def _modification_time(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0
