"""Models of the scripted engine for tests: latencies and disasters to order."""

import json
from pathlib import Path
from typing import Any

from modeldyno.core.sessions import SessionPlan, Target
from modeldyno.inputs.plans import InputPlan, TensorPlan
from modeldyno.worker.messages import Examine, MeasureSession, SessionSpec

INPUTS = InputPlan((TensorPlan("x", "float32", (1, 4)),), batch_size=1)
SHORT = SessionPlan(iterations=5, warmup_calls=1)


def script(path: Path, **said: Any) -> Path:
    """``script(tmp_path / "m.json", latency_us=200)``"""
    path.write_text(json.dumps({"modeldyno": "scripted/1", "latency_us": 50} | said))
    return path


def fault(do: str, call: int = 0, **when: int) -> dict[str, Any]:
    """``fault("segfault", call=3, session=4)``"""
    return {"do": do, "call": call} | when


def target(model: Path, engine: str = "scripted", **said: Any) -> Target:
    return Target(engine, str(model), **said)


def examine(model: Path, reference: Path, *ladder: InputPlan, engine: str = "scripted") -> Examine:
    return Examine(target(model, engine), ladder or (INPUTS,), "api", str(reference))


def measure(model: Path, reference: Path, plan: SessionPlan = SHORT, **said: Any) -> MeasureSession:
    return MeasureSession(
        SessionSpec(target(model, **said), INPUTS, "api"),
        plan=plan,
        padding_seed=1,
        reference=str(reference),
    )
