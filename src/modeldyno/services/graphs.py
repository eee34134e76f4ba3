"""A model's graph: read in a worker once, then out of the workspace."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from modeldyno.core.graphs import NOT_IN_TIME, Graph
from modeldyno.core.specs import GraphSpec
from modeldyno.services.runs import RunService
from modeldyno.store.graphs import Graphs
from modeldyno.store.models import hash_file


class GraphService:
    def __init__(self, runs: RunService, kept: Graphs) -> None:
        self._runs = runs
        self._kept = kept

    def graph(self, spec: GraphSpec) -> Graph:
        """Raises what reading the model raises.

        The key is a hash that we know ourselves (the spec's, or the file's): a worker that a
        hostile model has taken over must not be able to say whose graph it sends.
        """
        sha256 = spec.model.sha256 or _hash(Path(spec.model.path))
        kept = self._kept.load(sha256) if sha256 else None
        if kept is not None:
            return kept
        graph = self._runs.run(replace(spec, model=replace(spec.model, sha256=sha256)))
        assert isinstance(graph, Graph)
        if sha256 and NOT_IN_TIME not in graph.notes:
            self._kept.save(graph)
        return graph


def _hash(path: Path) -> str | None:
    """None for what cannot be hashed: the worker says what is wrong with it."""
    try:
        return hash_file(path) if path.is_file() else None
    except OSError:
        return None
