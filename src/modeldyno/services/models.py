"""Models of projects: what is known of them, who vouched for them, and which may run."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace

from modeldyno.core.errors import (
    GraphUnavailable,
    WrongState,
)
from modeldyno.core.graphs import Graph
from modeldyno.core.ids import ModelId
from modeldyno.core.models import Architecture, Model, ModelState
from modeldyno.core.runs import ListQuery, Page
from modeldyno.core.specs import (
    GraphSpec,
    ModelSpec,
    RunSpec,
)
from modeldyno.core.trust import Trusted, architecture_of, needs_trust
from modeldyno.services.graphs import GraphService
from modeldyno.services.model_files import UNREADABLE, pinned_spec, require_inspected
from modeldyno.services.requests import default_memory_limit
from modeldyno.store.records.all import Records
from modeldyno.store.trust import Trust, find_code, find_entry


@dataclass(frozen=True)
class ModelStatus:
    """A model, and whether it may run."""

    model: Model
    trusted: Trusted | None

    @property
    def state(self) -> ModelState:
        facts = self.model.facts
        if facts is None or self.model.sha256 is None:
            return "unread"
        if facts.missing:
            return "incomplete"
        return "untrusted" if needs_trust(facts.format) and self.trusted is None else "ready"


def _find_trust(entries: Sequence[Trusted], model: Model) -> Trusted | None:
    if model.facts is None or model.sha256 is None:
        return None
    return find_entry(entries, model.sha256, find_code(model.facts))


class ModelService:
    """Trust is what ``trust.json`` of the workspace says, which the terminal writes, too; the
    database keeps a copy, so that changes are sent as events."""

    def __init__(self, records: Records, trust: Trust, graphs: GraphService) -> None:
        self._records = records
        self._trust = trust
        self._graphs = graphs
        self._vouching = threading.Lock()  # so that file and database hear the same last word

    def get(self, model_id: ModelId) -> ModelStatus:
        return self.statuses([self._records.models.get(model_id)])[0]

    def page(self, wanted: ListQuery) -> Page[ModelStatus]:
        page = self._records.models.page(wanted)
        return Page(tuple(self.statuses(page.items)), page.next)

    def statuses(self, models: Sequence[Model]) -> list[ModelStatus]:
        entries = self._trust.all()
        return [ModelStatus(model, _find_trust(entries, model)) for model in models]

    def rename(self, model_id: ModelId, name: str) -> ModelStatus:
        return self.statuses([self._records.models.rename(model_id, name)])[0]

    def delete(self, model_id: ModelId, *, cascade: bool = False) -> None:
        """Its files follow when no other model has them (``ModelFiles.sweep``)."""
        self._records.models.delete(model_id, cascade=cascade)

    # ------------------------------------------------------------ trust

    def trust(self, model_id: ModelId, reason: str = "") -> ModelStatus:
        """Vouch for its content, in every project and in the terminal."""
        model = self._records.models.get(model_id)
        facts, sha256 = require_inspected(model)
        code = find_code(facts)
        # The file first: whoever gets the event reads there, and others write while this waits.
        with self._vouching:
            was_trusted = self._trust.is_trusted(sha256, code)
            self._trust.grant(sha256, model.name, reason, code)
            try:
                self._records.models.trust(sha256, reason)
            except BaseException:
                if not was_trusted:
                    self._trust.revoke(sha256)
                raise
        return self.get(model_id)

    def distrust(self, model_id: ModelId) -> ModelStatus:
        """Jobs that wait will not start; nothing happens when it was not trusted."""
        model = self._records.models.get(model_id)
        if model.sha256 is not None:
            with self._vouching:
                self._trust.revoke(model.sha256)
                self._records.models.distrust(model.sha256)
        return self.get(model_id)

    def require_runnable(self, model_id: ModelId) -> Model:
        """A model that may be run; raises UnsafeFormat when nobody has vouched for it."""
        model = self._records.models.get(model_id)
        facts, _ = require_inspected(model)
        if facts.missing:
            raise WrongState(
                f"{model.name} is not complete",
                why="these weights files are missing: " + ", ".join(facts.missing[:5]),
                fix="Upload them",
            )
        self._require_trust(model)
        return model

    def require_still_trusted(self, spec: RunSpec) -> None:
        """Asked again when a job begins: trust may have been taken back while it waited."""
        for model in spec.models():
            self._admit_model(model)

    # ------------------------------------------------------------ graph

    def graph(self, model_id: ModelId) -> Graph:
        """Raises what reading the model raises, or GraphUnavailable."""
        model = self._records.models.get(model_id)
        return self.graph_of(pinned_spec(model), model.name)

    def graph_of(self, model: ModelSpec, name: str) -> Graph:
        """Of a file that need not be a model of a project; raises as ``graph`` does."""
        spec = GraphSpec(model, memory_limit_bytes=default_memory_limit())
        try:
            return self._graphs.graph(spec)
        except UNREADABLE as error:
            raise GraphUnavailable(
                f"The graph of {name} cannot be read: {error.title}", why=error.why, fix=error.fix
            ) from error

    def stored_graph(self, sha256: str) -> Graph | None:
        """The graph of a model's content, if it was read before."""
        return self._graphs.stored(sha256)

    # ------------------------------------------------------------ inside

    def _admit_model(self, model: ModelSpec) -> None:
        """By content: the spec is pinned to it and to its code, so nothing else can be loaded
        instead."""
        known = (
            self._records.models.find_inspected_by_content(model.sha256) if model.sha256 else None
        )
        if known is None:
            raise WrongState("This model is not known by its content", fix="Inspect it first")
        facts, _ = require_inspected(known)
        if architecture_of(facts) is not None and model.architecture is None:
            raise WrongState(
                "This job does not say what builds its model",
                why="an older version of Modeldyno queued it, and trust covers that by now",
                fix="Start it again",
            )
        self._require_trust(known, model.architecture)

    def _require_trust(self, model: Model, architecture: Architecture | None = None) -> None:
        """Of what is in its sidecar, or of another architecture."""
        facts, sha256 = require_inspected(model)
        self._trust.require(
            replace(facts, sha256=sha256, architecture=architecture or facts.architecture),
            model.name,
            fix="If you made it or trust who did, trust it. From a stranger, ask for ONNX",
        )
