"""Look at the folders of runs now and then: what the terminal measures appears in the server."""

from __future__ import annotations

import logging
import threading
from pathlib import Path

from modeldyno.core.errors import ModeldynoError
from modeldyno.core.ids import RunId
from modeldyno.store.history import History
from modeldyno.store.indexing import RunIndex, sweep
from modeldyno.store.records.all import Records
from modeldyno.store.runs import RunFolders

logger = logging.getLogger(__name__)

LOOK_AGAIN_S = 2.0
LOOK_CLOSELY_EVERY = 30  # looks: an old run that goes on in a terminal changes nothing else
_NEWEST = 20  # runs that are watched; one more changes the folder that they are all in

_Sight = tuple[object, ...]


class FolderWatch:
    """A look costs a few system calls; only when something has changed the database is asked.
    Folders of deleted runs go soon after their rows."""

    def __init__(
        self,
        records: Records,
        history: History,
        root: Path,
        look_again_s: float = LOOK_AGAIN_S,
    ) -> None:
        self._records = records
        self._history = history
        self._root = root
        self._look_again_s = look_again_s
        self._index = RunIndex(records.database, history)
        self._root_changed: int | None = None
        self._newest: tuple[RunId, ...] = ()
        self._others: tuple[RunId, ...] = ()  # that run, or that nobody could read
        self._seen: _Sight = ()
        self._has_news = threading.Event()  # rows were written: some may be gone
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._work, name="folders", daemon=True)

    def start(self) -> None:
        self._records.database.on_write(self._has_news.set)
        self._has_news.set()
        self._thread.start()

    def close(self) -> None:
        self._closing.set()
        if self._thread.is_alive():
            self._thread.join(5.0)

    def _work(self) -> None:
        looks = 0
        while not self._closing.is_set():
            looks += 1
            try:
                self._look(closely=looks % LOOK_CLOSELY_EVERY == 0)
            except ModeldynoError as error:
                logger.warning("runs of the terminal cannot be shown for now: %s", error)
            except Exception:
                logger.exception("the watch over the runs stumbled")
            self._closing.wait(self._look_again_s)

    def _look(self, *, closely: bool) -> None:
        if self._has_news.is_set() or closely:
            self._has_news.clear()
            sweep(self._records.runs, self._root)
        if closely:
            RunFolders(self._root).sweep()
        if self._sight() != self._seen or closely:
            self._others = self._index.refresh().unreadable
            self._others += tuple(run.id for run in self._records.runs.active())
            self._seen = self._sight()

    def _sight(self) -> _Sight:
        """Changes when a run appears or goes, and when one of those that are watched does."""
        changed = _changed(self._root)
        if changed != self._root_changed:
            self._root_changed, self._newest = changed, tuple(self._history.ids()[:_NEWEST])
        watched = dict.fromkeys((*self._newest, *self._others))
        return (changed, *map(self._of_run, watched))

    def _of_run(self, run_id: RunId) -> tuple[int, str]:
        """Its state as well: a run whose process was killed has another one, and no new file."""
        folder = self._history.folder(run_id)
        changed = _changed(folder.path / "state.json")
        try:
            return changed, folder.state()
        except (OSError, ValueError, KeyError, TypeError):
            return changed, "unreadable"


def _changed(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0
