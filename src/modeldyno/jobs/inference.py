"""Let a model run once, and say what came out."""

from __future__ import annotations

import time
from contextlib import closing

from modeldyno.core.models import TensorSpec
from modeldyno.core.sessions import InferenceResult, SessionPlan
from modeldyno.core.specs import InferenceSpec
from modeldyno.inputs.plans import InputPlan
from modeldyno.jobs.inspection import inspect
from modeldyno.jobs.preparation import prepare
from modeldyno.jobs.protocol import Context
from modeldyno.jobs.trial_workers import TrialWorkers
from modeldyno.worker.messages import MeasureSession, SessionMeasured

ONCE = SessionPlan(iterations=1, warmup_calls=0)


def run_inference(spec: InferenceSpec, context: Context) -> InferenceResult:
    """No core is leased for it: as whenever a cell is tried, it may run beside a measurement."""
    deadline = time.monotonic() + spec.timeout_s
    setup = context.worker_setup(
        spec.model,
        cells=(spec.cell,),
        memory_limit_bytes=spec.memory_limit_bytes,
        inspecting=True,
        sandbox=spec.cell.sandbox,
    )
    with closing(TrialWorkers(setup)) as trying:
        facts = inspect(trying.ours, spec.model, context, spec.timeout_s)
        copy = context.copy_privately(spec.model, facts)
        tried = prepare(
            trying, spec.model, facts, copy, spec.cell, "once", spec.seed, context, deadline
        )
        command = MeasureSession(
            tried.target, tried.inputs, spec.cell.contract, ONCE, spec.seed, tried.reference
        )
        worker = trying.worker(tried.python)
        session = worker.request(command, SessionMeasured, deadline, context.stop).session
        sandbox = worker.sandbox
    return InferenceResult(
        engine=tried.facts.engine,
        engine_version=tried.facts.engine_version,
        device=tried.facts.device,
        precision=tried.facts.precision,
        batch_size=tried.batch_size,
        load_s=session.load_s,
        first_call_s=session.first_call_s,
        call_s=session.samples.wall_ns[0] / 1e9,
        inputs=_fed(tried.inputs),
        outputs=tried.outputs,
        notes=tried.notes,
        sandbox=sandbox,
    )


def _fed(plan: InputPlan) -> tuple[TensorSpec, ...]:
    return tuple(TensorSpec(one.name, one.dtype, one.shape) for one in plan.tensors)
