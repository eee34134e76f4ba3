"""Read a model file in a worker."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

from modeldyno.core.errors import ModelChanged
from modeldyno.core.models import ModelFacts
from modeldyno.core.specs import InspectionSpec, ModelSpec
from modeldyno.inputs.model_overrides import with_overrides
from modeldyno.jobs.protocol import Context
from modeldyno.worker.launch import Worker, launched
from modeldyno.worker.messages import Inspect, Inspected


def run_inspection(spec: InspectionSpec, context: Context) -> ModelFacts:
    with launched(context.worker_setup(spec, inspecting=True)) as worker:
        return inspect(worker, spec.model, context, spec.timeout_s, spec.without_weights)


def inspect(
    worker: Worker,
    model: ModelSpec,
    context: Context,
    timeout_s: float,
    without_weights: bool = False,
) -> ModelFacts:
    """What the file says, completed by what was said about it."""
    deadline = time.monotonic() + timeout_s
    command = Inspect(context.local(model).path, without_weights, model.signature)
    facts = worker.request(command, Inspected, deadline, context.stop).facts
    listed = {file.location: file.sha256 for file in model.files}
    if model.sha256 not in (None, facts.sha256) or any(
        listed.get(file.location, file.sha256) != file.sha256 for file in facts.external
    ):
        raise ModelChanged(
            f"{Path(model.path).name} has changed",
            why="its content is not what was inspected before",
            fix="Make sure that nothing rewrites it, and try again",
        )
    return with_overrides(replace(facts, path=model.path), model)
