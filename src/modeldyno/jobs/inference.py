"""Let a model run once, and report what came out."""

from __future__ import annotations

import time
from contextlib import closing

from modeldyno.core.models import TensorSpec
from modeldyno.core.sessions import InferenceResult, SessionPlan
from modeldyno.core.specs import InferenceSpec
from modeldyno.jobs.preparation import TrialWorkers
from modeldyno.jobs.protocol import Context
from modeldyno.worker.messages import MeasureSession, SessionMeasured

ONCE = SessionPlan(iterations=1, warmup_calls=0)


def run_inference(spec: InferenceSpec, context: Context) -> InferenceResult:
    """Leases no core: like every trial of a cell, it may run beside a measurement."""
    deadline = time.monotonic() + spec.timeout_s
    with closing(TrialWorkers(spec, (spec.cell,), context)) as trials:
        facts, copy = trials.inspect(spec.model)
        prepared = trials.prepare(spec.model, facts, copy, spec.cell, "once", deadline)
        command = MeasureSession(prepared.session(), ONCE, spec.seed, prepared.reference)
        worker = trials.worker(prepared.python)
        session = worker.request(command, SessionMeasured, deadline, context.stop).session
        sandbox = worker.sandbox
    return InferenceResult(
        engine=prepared.facts.engine,
        engine_version=prepared.facts.engine_version,
        device=prepared.facts.device,
        precision=prepared.facts.precision,
        batch_size=prepared.batch_size,
        load_s=session.load_s,
        first_call_s=session.first_call_s,
        call_s=session.samples.wall_ns[0] / 1e9,
        inputs=tuple(
            TensorSpec(tensor.name, tensor.dtype, tensor.shape)
            for tensor in prepared.inputs.tensors
        ),
        outputs=prepared.outputs,
        notes=prepared.notes,
        sandbox=sandbox,
    )
