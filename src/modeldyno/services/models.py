"""Models of projects: taken in by content, looked into, vouched for."""

from __future__ import annotations

from modeldyno.core.errors import UnsafeFormat, WrongState
from modeldyno.core.ids import ModelId
from modeldyno.core.models import Model
from modeldyno.core.specs import BenchmarkSpec, ComparisonSpec, ModelSpec, RunSpec
from modeldyno.core.trust import needs_trust, warning
from modeldyno.store.records.all import Records
from modeldyno.store.trust import Trust


class ModelService:
    def __init__(self, records: Records, trust: Trust) -> None:
        self._records = records
        self._trust = trust

    def runnable(self, model_id: ModelId) -> Model:
        """A model that may be run; raises UnsafeFormat when nobody has vouched for it."""
        model = self._records.models.get(model_id)
        if model.facts is None or model.sha256 is None:
            raise WrongState(
                f"Model {model_id} has not been looked into",
                why="only what could be read can be measured",
                fix="Inspect it; that tells what is wrong",
            )
        self._expect_trust(model.sha256, model)
        return model

    def admit(self, spec: RunSpec) -> None:
        """Asked again when a job begins: trust may have been taken back while it waited."""
        match spec:
            case BenchmarkSpec(model=model):
                self._admit(model)
            case ComparisonSpec(a=a, b=b):
                self._admit(a.model)
                self._admit(b.model)
            case _:
                pass

    def _admit(self, model: ModelSpec) -> None:
        if model.sha256 is None:
            raise WrongState("This model is not known by its content", fix="Inspect it first")

    def _expect_trust(self, sha256: str, model: Model) -> None:
        facts = model.facts
        assert facts is not None
        if needs_trust(facts.format) and not self._trust.is_trusted(sha256):
            raise UnsafeFormat(
                f"Nobody has vouched for {model.name}",
                why=warning(facts),
                fix="If you made it or trust who did, trust it. From a stranger, ask for ONNX",
            )
