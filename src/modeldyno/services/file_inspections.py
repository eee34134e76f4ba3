"""Inspections of files that a client names by path: of models, and of those that may become some.

Facts always describe our own copy of the file, never the path. They are cached by content, so that
asking for a path again copies nothing and starts no worker.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from modeldyno.core.errors import FileNotFound, ModeldynoError, PathRefused, TooBusy
from modeldyno.core.graphs import Graph
from modeldyno.core.models import Model, ModelFacts
from modeldyno.services.background import BackgroundPool, unexpected_failure
from modeldyno.services.concurrency_limit import ConcurrencyLimit
from modeldyno.services.lru_cache import LruCache
from modeldyno.services.model_files import ModelFiles, TemporaryCopy
from modeldyno.services.models import ModelService
from modeldyno.store.records.all import Records

logger = logging.getLogger(__name__)

MOST_AT_ONCE = 4
MOST_SYNCHRONOUS = 12  # each holds one of the server's threads
MOST_WAITING = 20
# A file changed less than this ago may change again without a new modification time.
SETTLED_S = 2.0

OnStart = Callable[[], None]
OnFacts = Callable[[ModelFacts], None]
OnFailure = Callable[[ModeldynoError], None]


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
        self._reading = ConcurrencyLimit(
            MOST_SYNCHRONOUS, "being read", "each is read by a separate process"
        )
        self._pool = BackgroundPool(MOST_AT_ONCE, "inspect")
        self._lock = threading.Lock()

    def start(self, path: str, on_start: OnStart, on_facts: OnFacts, on_failure: OnFailure) -> None:
        """Inspect a file in the background: ``on_start`` is called, then one of the others, once.

        Raises TooBusy, and then none is.
        """
        with self._lock:
            if self._pool.pending >= MOST_WAITING:
                raise TooBusy(
                    f"{MOST_WAITING} files are already waiting to be inspected",
                    why=f"{MOST_AT_ONCE} are inspected at a time",
                    fix="Ask again in a few seconds",
                )
            self._pool.submit(self._run, path, on_start, on_facts, on_failure)

    def facts(self, path: str) -> ModelFacts:
        """Raises PathRefused, FileNotFound, and what reading the model raises."""
        model = self._find_model_at(path)
        if model is not None and model.facts is not None:
            return model.facts
        sha256 = self._cached_hash(path)
        if sha256 and (cached := self._facts.get(sha256)):
            return cached
        with self._reading.slot(), self._files.temporary_copy(path) as copy:
            facts = self._files.inspect_file(copy.model)
            self._cache_hash(copy)
            self._facts.put(copy.sha256, facts)
            return facts

    def graph(self, path: str) -> Graph:
        """Of the file as it is now; if it is gone or no longer readable, of the model that was made
        of it.

        Raises as ``facts`` does, and GraphUnavailable.
        """
        model = self._find_model_at(path)
        if model is not None:
            return self._models.graph(model.id)
        try:
            return self._graph_of_file(path)
        except (PathRefused, FileNotFound):
            model = self._records.models.find_newest_copied_from(path)
            if model is None:
                raise
            return self._models.graph(model.id)

    def close(self) -> bool:
        """False: one is still at work."""
        return self._pool.close()

    # ------------------------------------------------------------ inside

    def _graph_of_file(self, path: str) -> Graph:
        sha256 = self._cached_hash(path)
        if sha256 and (stored := self._models.stored_graph(sha256)):
            return stored
        with self._reading.slot(), self._files.temporary_copy(path) as copy:
            graph = self._models.graph_of(copy.model, path.rpartition("/")[2])
            self._cache_hash(copy)
            return graph

    def _find_model_at(self, path: str) -> Model | None:
        """A model uploaded without a path: clients are given that of our own file."""
        return self._records.models.find_newest_at_path(path) if path.startswith("/") else None

    def _cached_hash(self, path: str) -> str | None:
        """Of the file as it is, if it was inspected before. Always opens it: that checks whether it
        may be read at all."""
        with self._files.open_below_roots(path) as file:
            return self._hashes.get(file.version().key)

    def _cache_hash(self, copy: TemporaryCopy) -> None:
        if copy.version is not None and copy.version.age_s > self._settled_s:
            self._hashes.put(copy.version.key, copy.sha256)

    def _run(self, path: str, on_start: OnStart, on_facts: OnFacts, on_failure: OnFailure) -> None:
        on_start()
        try:
            facts = self.facts(path)
        except ModeldynoError as error:
            on_failure(error)
        except Exception as error:
            logger.exception("the inspection of a file failed")
            on_failure(ModeldynoError(unexpected_failure(error).title))
        else:
            on_facts(facts)
