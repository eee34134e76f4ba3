"""A model's graph: read in a worker once, then out of the workspace."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path

from modeldyno.core.graphs import NOT_IN_TIME, Graph
from modeldyno.core.specs import GraphSpec
from modeldyno.services.runs import RunService
from modeldyno.store.graphs import Graphs
from modeldyno.store.models import hash_file

MOST_REMEMBERED = 20_000  # nodes, about 30 MB: who opens a group asks for the same graph again


class GraphService:
    def __init__(self, runs: RunService, kept: Graphs) -> None:
        self._runs = runs
        self._kept = kept
        self._recent = _Recent(MOST_REMEMBERED)

    def graph(self, spec: GraphSpec) -> Graph:
        """Raises what reading the model raises.

        The key is a hash that we know ourselves (the spec's, or the file's): a worker that a
        hostile model has taken over must not be able to say whose graph it sends. Only the usual
        graph of a model is kept, not those of other signatures.
        """
        if spec.model.signature:
            found = self._runs.run(spec)
            assert isinstance(found, Graph)
            return found
        sha256 = spec.model.sha256 or _hash(Path(spec.model.path))
        known = self.known(sha256) if sha256 else None
        if known is not None:
            return known
        graph = self._runs.run(replace(spec, model=replace(spec.model, sha256=sha256)))
        assert isinstance(graph, Graph)
        if sha256 and NOT_IN_TIME not in graph.notes:
            self._kept.save(graph)
            self._recent.remember(graph)
        return graph

    def known(self, sha256: str) -> Graph | None:
        """One that was read before, without a look at the model."""
        found = self._recent.find(sha256) or self._kept.load(sha256)
        if found is not None:
            self._recent.remember(found)
        return found


class _Recent:
    """Graphs looked at last, in memory; they are frozen, so everybody may have the same one."""

    def __init__(self, most_nodes: int) -> None:
        self._most_nodes = most_nodes
        self._graphs: dict[str, Graph] = {}  # the one looked at last is the last
        self._changing = threading.Lock()

    def find(self, sha256: str) -> Graph | None:
        return self._graphs.get(sha256)

    def remember(self, graph: Graph) -> None:
        with self._changing:
            self._graphs.pop(graph.sha256, None)
            self._graphs[graph.sha256] = graph
            while sum(len(known.nodes) for known in self._graphs.values()) > self._most_nodes:
                del self._graphs[next(iter(self._graphs))]


def _hash(path: Path) -> str | None:
    """None for what cannot be hashed: the worker says what is wrong with it."""
    try:
        return hash_file(path) if path.is_file() else None
    except OSError:
        return None
