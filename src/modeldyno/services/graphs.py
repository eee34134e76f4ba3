"""A model's graph: read once by a worker, then served from the workspace."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from modeldyno.core.graphs import NOT_IN_TIME, Graph
from modeldyno.core.specs import GraphSpec
from modeldyno.services.lru_cache import LruCache
from modeldyno.services.runs import RunService
from modeldyno.store.graphs import Graphs
from modeldyno.store.models import hash_file

MAX_CACHED_NODES = 20_000  # about 30 MB: opening a group asks for the same graph again


class GraphService:
    def __init__(
        self, runs: RunService, stored: Graphs, max_cached_nodes: int = MAX_CACHED_NODES
    ) -> None:
        self._runs = runs
        self._stored = stored
        self._cache = LruCache[str, Graph](max_cached_nodes, lambda graph: len(graph.nodes))

    def graph(self, spec: GraphSpec) -> Graph:
        """Raises what reading the model raises.

        The key is a hash from us (the spec's, or the file's): a worker taken over by a hostile
        model must not decide whose graph it sends. Only a model's default graph is stored, not
        those of other signatures.
        """
        if spec.model.signature:
            return self._read_in_worker(spec)
        sha256 = spec.model.sha256 or _hash_if_readable(Path(spec.model.path))
        if sha256 and (stored := self.stored(sha256)):
            return stored
        graph = self._read_in_worker(replace(spec, model=replace(spec.model, sha256=sha256)))
        if sha256 and NOT_IN_TIME not in graph.notes:
            self._stored.save(graph)
            self._cache.put(graph.sha256, graph)
        return graph

    def stored(self, sha256: str) -> Graph | None:
        """A graph that was read before, without opening the model."""
        graph = self._cache.get(sha256)
        if graph is None and (graph := self._stored.load(sha256)) is not None:
            self._cache.put(sha256, graph)
        return graph

    def _read_in_worker(self, spec: GraphSpec) -> Graph:
        graph = self._runs.run(spec)
        assert isinstance(graph, Graph)
        return graph


def _hash_if_readable(path: Path) -> str | None:
    """None for what cannot be hashed: the worker reports what is wrong with it."""
    try:
        return hash_file(path) if path.is_file() else None
    except OSError:
        return None
