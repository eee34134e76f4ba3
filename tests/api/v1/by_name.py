"""Workspaces with models to be measured by name, and what an answer of that route must have."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.api.v1.server import Answer, Served

ERROR_KEYS = {
    "status", "message", "code", "detail", "fix", "available_devices", "unavailable_devices",
}  # fmt: skip
# As the older endpoint of that kind documented them.
DOCUMENTED = {
    "status": str,
    "framework": str,
    "avg_inference_time_ms": float,
    "throughput_samples_per_sec": float,
    "input_shape": list,
    "providers": list,
    "parameters": int,
    "model_name": str,
    "model_path": str,
    "iterations": int,
    "device": str,
}


def folders(workspace: Path) -> Path:
    """The three folders; gives the first of them."""
    for name in ("exported", "trained", "quantized"):
        (workspace / "models" / name).mkdir(parents=True, exist_ok=True)
    return workspace / "models" / "exported"


def ask(served: Served, name: str, /, **said: Any) -> Answer:
    query = "&".join(f"{key}={value}" for key, value in said.items())
    return served.get(f"benchmark/{name}{'?' if query else ''}{query}")


def measured(served: Served, name: str, /, **said: Any) -> Any:
    """Quick unless ``said`` otherwise."""
    answer = ask(served, name, **({"iterations": 8, "warmup": 1} | said))
    assert answer.status == 200, answer.text
    assert answer.json["status"] == "success", answer.text
    return answer.json


def refused(answer: Answer, status: int, code: str, *more: str) -> Any:
    """An error in the shape of that route, whoever said no; ``more`` are further keys."""
    assert answer.headers["Content-Type"] == "application/json", answer.text
    assert (answer.status, answer.json["code"]) == (status, code), answer.text
    assert answer.json.keys() == ERROR_KEYS | {*more}, answer.text
    assert answer.json["status"] == "error"
    assert answer.json["message"]
    assert "Traceback" not in answer.text
    return answer.json


def found(served: Served, name: str) -> Any:
    """What a name means, without measuring it: no engine has all of these devices here."""
    answer = ask(served, name, device="mps,coreml")
    more = ("model_name", "model_path", "iterations", "results")
    return refused(answer, 400, "ENGINE_UNAVAILABLE", *more)
