"""Runs for workspaces that require trust: only trusted models are loaded."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from modeldyno.core.errors import WrongState
from modeldyno.core.ids import RunId
from modeldyno.core.jobs import Result
from modeldyno.core.models import Architecture, ModelFacts
from modeldyno.core.specs import InspectionSpec, ModelSpec, RunSpec
from modeldyno.core.trust import architecture_of, needs_trust
from modeldyno.core.visible import shell_word
from modeldyno.formats.refusals import printable_name
from modeldyno.inputs.model_overrides import require_complete
from modeldyno.jobs.protocol import Jobs
from modeldyno.services.runs import Listener, RunService
from modeldyno.store.runs import RunFolders
from modeldyno.store.trust import Trust


class TrustedRunService(RunService):
    """Inspects the file first and pins its hash and the code that builds it, so that neither can be
    replaced before the run."""

    def __init__(self, store: RunFolders, jobs: Jobs, trust: Trust) -> None:
        super().__init__(store, jobs)
        self._trust = trust

    def run(self, spec: RunSpec, listen: Listener | None = None) -> Result:
        return super().run(self._require_trusted(spec), listen)

    def resume(self, run_id: RunId, listen: Listener | None = None) -> Result:
        spec = self._store.spec(run_id)
        if _architectures(self._require_trusted(spec)) != _architectures(spec):
            raise WrongState(
                "This run cannot continue while trust is required",
                why="it does not name the code that builds its model, so that could be replaced",
                fix="Measure it again",
            )
        return super().resume(run_id, listen)

    def _require_trusted(self, spec: RunSpec) -> RunSpec:
        if not spec.loads_model:
            return spec
        limit = spec.memory_limit_bytes
        return spec.with_models(lambda model, _: self._pin_model(model, limit))

    def _pin_model(self, model: ModelSpec, memory_limit_bytes: int | None) -> ModelSpec:
        facts = super().run(InspectionSpec(model, memory_limit_bytes=memory_limit_bytes))
        assert isinstance(facts, ModelFacts)
        name = printable_name(Path(facts.path))
        self._trust.require(
            facts,
            name,
            fix="If you made it or trust who did: modeldyno trust "
            f"{name}{_architecture_options(model)}. From a stranger, ask for ONNX",
        )
        architecture = architecture_of(facts)
        if architecture is None and needs_trust(facts.format):
            require_complete(facts)  # an architecture must not be added after this check
        return replace(model, sha256=facts.sha256, architecture=architecture or model.architecture)


def _architecture_options(model: ModelSpec) -> str:
    """The same architecture as options of `modeldyno trust`."""
    if model.architecture is None:
        return ""
    arguments = (
        f" --arg {shell_word(f'{name}={json.dumps(value)}')}"
        for name, value in model.architecture.arguments.items()
    )
    return f" --architecture {shell_word(model.architecture.factory)}{''.join(arguments)}"


def _architectures(spec: RunSpec) -> tuple[Architecture | None, ...]:
    return tuple(model.architecture for model in spec.models())
