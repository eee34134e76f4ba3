"""Files that a client names by path, looked into: of models, and those that may become some.

Whatever the path, what is told is about bytes that we have. What was found is remembered by their
content; so asking for one path again copies nothing, and starts no worker.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait

from modeldyno.core.errors import FileNotFound, ModeldynoError, PathRefused, TooBusy
from modeldyno.core.graphs import Graph
from modeldyno.core.models import Model, ModelFacts
from modeldyno.services.background import log_failure
from modeldyno.services.concurrency_limit import ConcurrencyLimit
from modeldyno.services.lru_cache import LruCache
from modeldyno.services.model_files import ModelFiles, TemporaryCopy
from modeldyno.services.models import ModelService
from modeldyno.store.records.all import Records

logger = logging.getLogger(__name__)

MOST_AT_ONCE = 4
MOST_ASKED = 12  # whoever asks for a graph holds one of the server's threads
MOST_WAITING = 20
LEAVE_S = 5.0  # for those under way when we close
# A file that changed so shortly ago may change again without its times telling it.
SETTLED_S = 2.0

Started = Callable[[], None]
Found = Callable[[ModelFacts], None]
Failed = Callable[[ModeldynoError], None]


class FileInspections:
    def __init__(
        self,
        records: Records,
        files: ModelFiles,
        models: ModelService,
        settled_s: float = SETTLED_S,
    ) -> None:
        self._records = records
        self._files = files
        self._models = models
        self._settled_s = settled_s
        self._hashes = LruCache[tuple[int, ...], str]()
        self._facts = LruCache[str, ModelFacts]()
        # Each copies a file and starts a process.
        self._looking = ConcurrencyLimit(
            MOST_ASKED, "being read", "each is read by a process of its own"
        )
        self._threads = ThreadPoolExecutor(MOST_AT_ONCE, "look")
        self._lock = threading.Lock()
        self._waiting = 0
        self._under_way: dict[Future[None], None] = {}

    def start(self, path: str, started: Started, found: Found, failed: Failed) -> None:
        """Look into a file in the background: ``started`` is called, then one of the others, once.

        Raises TooBusy, and then none is.
        """
        with self._lock:
            if self._waiting >= MOST_WAITING:
                raise TooBusy(
                    f"{MOST_WAITING} files wait to be looked into already",
                    why=f"{MOST_AT_ONCE} are looked into at a time",
                    fix="Ask again in a few seconds",
                )
            self._waiting += 1
        running = self._threads.submit(self._run, path, started, found, failed)
        self._under_way[running] = None
        running.add_done_callback(lambda ended: self._under_way.pop(ended, None))
        running.add_done_callback(log_failure)

    def facts(self, path: str) -> ModelFacts:
        """Raises PathRefused, FileNotFound, and what reading the model raises."""
        model = self._kept_at(path)
        if model is not None and model.facts is not None:
            return model.facts
        known = self._hash_of(path)
        facts = self._facts.find(known) if known else None
        if facts is not None:
            return facts
        with self._looking.taken(), self._files.borrowed(path) as borrowed:
            facts = self._files.look(borrowed.model)
            self._note(borrowed)
            self._facts.remember(borrowed.sha256, facts)
            return facts

    def graph(self, path: str) -> Graph:
        """As the file is now; of one that is gone, or may not be read any more, as the model that
        was made of it.

        Raises as ``facts`` does, and GraphUnavailable.
        """
        model = self._kept_at(path)
        if model is not None:
            return self._models.graph(model.id)
        try:
            return self._graph_of_file(path)
        except (PathRefused, FileNotFound):
            model = self._records.models.copied_from(path)
            if model is None:
                raise
            return self._models.graph(model.id)

    def close(self) -> bool:
        """False: one is still at work."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        return not wait((*self._under_way,), LEAVE_S).not_done

    # ------------------------------------------------------------ inside

    def _graph_of_file(self, path: str) -> Graph:
        sha256 = self._hash_of(path)
        known = self._models.known_graph(sha256) if sha256 else None
        if known is not None:
            return known
        with self._looking.taken(), self._files.borrowed(path) as borrowed:
            graph = self._models.graph_of(borrowed.model, path.rpartition("/")[2])
            self._note(borrowed)
            return graph

    def _kept_at(self, path: str) -> Model | None:
        """A model whose path is told to clients because it came without one."""
        return self._records.models.kept_at(path) if path.startswith("/") else None

    def _hash_of(self, path: str) -> str | None:
        """Of the file as it is, if it was looked into before; opening it is what decides whether
        it may be read at all."""
        with self._files.opened(path) as file:
            return self._hashes.find(file.version().key)

    def _note(self, borrowed: TemporaryCopy) -> None:
        if borrowed.version is not None and borrowed.version.age_s > self._settled_s:
            self._hashes.remember(borrowed.version.key, borrowed.sha256)

    def _run(self, path: str, started: Started, found: Found, failed: Failed) -> None:
        try:
            started()
            try:
                facts = self.facts(path)
            except ModeldynoError as error:
                failed(error)
            except Exception as error:
                logger.exception("a look into a file failed")
                failed(ModeldynoError(f"Something went wrong: {type(error).__name__}"))
            else:
                found(facts)
        finally:
            with self._lock:
                self._waiting -= 1
