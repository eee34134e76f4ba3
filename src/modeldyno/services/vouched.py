"""Runs where naming a file is not trust enough: only what somebody vouched for is loaded."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import assert_never

from modeldyno.core.errors import UnsafeFormat
from modeldyno.core.ids import RunId
from modeldyno.core.jobs import Result
from modeldyno.core.models import ModelFacts
from modeldyno.core.specs import (
    BenchmarkSpec,
    ComparisonSpec,
    ConversionSpec,
    GraphSpec,
    InferenceSpec,
    InspectionSpec,
    ModelSpec,
    OptimizationSpec,
    ProfileSpec,
    RunSpec,
)
from modeldyno.core.trust import needs_trust, warning
from modeldyno.formats.refusals import shown
from modeldyno.jobs.protocol import Jobs
from modeldyno.services.runs import Listener, RunService
from modeldyno.store.runs import Runs
from modeldyno.store.trust import Trust


class VouchedRuns(RunService):
    """Looks before it runs. What it found trusted is pinned by hash, so that it cannot be swapped
    in between."""

    def __init__(self, store: Runs, jobs: Jobs, trust: Trust) -> None:
        super().__init__(store, jobs)
        self._trust = trust

    def run(self, spec: RunSpec, listen: Listener | None = None) -> Result:
        return super().run(self._vouched(spec), listen)

    def resume(self, run_id: RunId, listen: Listener | None = None) -> Result:
        self._vouched(self._store.spec(run_id))
        return super().resume(run_id, listen)

    def _vouched(self, spec: RunSpec) -> RunSpec:
        match spec:
            case InspectionSpec() | GraphSpec():  # looking runs nothing
                return spec
            case (
                BenchmarkSpec()
                | ProfileSpec()
                | OptimizationSpec()
                | InferenceSpec()
                | ConversionSpec()
            ):
                return replace(spec, model=self._pinned(spec.model, spec.memory_limit_bytes))
            case ComparisonSpec(a=a, b=b, memory_limit_bytes=limit):
                first, second = (replace(s, model=self._pinned(s.model, limit)) for s in (a, b))
                return replace(spec, a=first, b=second)
            case _:
                assert_never(spec)

    def _pinned(self, model: ModelSpec, memory_limit_bytes: int | None) -> ModelSpec:
        facts = super().run(InspectionSpec(model, memory_limit_bytes=memory_limit_bytes))
        assert isinstance(facts, ModelFacts)
        if needs_trust(facts.format) and not self._trust.is_trusted(facts.sha256):
            name = shown(Path(facts.path))
            raise UnsafeFormat(
                f"Nobody has vouched for {name}",
                why=warning(facts),
                fix=f"If you made it or trust who did: modeldyno trust {name}. From a stranger, "
                "ask for ONNX",
            )
        return replace(model, sha256=facts.sha256)
