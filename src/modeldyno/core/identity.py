"""When two specs ask for the same: the same command on the same models is run once more, not anew.

The fields that matter are named here with the value that stands for "not given". So a spec of an
older version, which lacks some, and one of a newer version, which has more, keep their identity. A
field that joins later is added with its default; only a change of meaning needs a new version.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any

VERSION = 1

Fields = dict[str, Any]

_MODEL: Fields = {
    "path": None,
    "dims": {},
    "values": {},
    "data": None,
    "inputs": [],
    "architecture": None,
    "sha256": None,
    "signature": "",
}
_CELL: Fields = {
    "engine": "",
    "batch_size": 1,
    "cores": 1,
    "instances": 1,
    "device": "cpu",
    "precision": None,
    "spinning": None,
    "contract": "api",
    "sandbox": "on",
    "options": {},
    "streams": 1,
}
_LIMITS: Fields = {"timeout_s": 600.0, "memory_limit_bytes": None, "seed": 0}
_BENCHMARK: Fields = {
    "budget": None,
    "iterations": None,
    "warmup_calls": None,
    "per_call": False,
    "meters": False,
    "dataset": None,
    "recipe": None,
    "environment": None,
    **_LIMITS,
}
# Without ``fail_if_slower``: a gate judges what was measured, and does not change it.
_COMPARISON: Fields = {
    "margin": 0.02,
    "seconds": 10.0,
    "processes": 3,
    "pair_s": 0.25,
    "pairs": None,
    "adaptive": False,
    **_LIMITS,
}
_PROFILE: Fields = {"repeats": 5, "repeat_s": 0.25, **_LIMITS}


def fingerprint(kind: str, models: Sequence[int], spec: dict[str, Any]) -> str | None:
    """Of a spec as JSON, on models of those numbers; None for a kind that is never repeated."""
    match kind:
        case "benchmark":
            cells = [_given(cell, _CELL) for cell in spec["cells"]]
            parts: list[Any] = [_given(spec["model"], _MODEL), cells, _given(spec, _BENCHMARK)]
        case "comparison":
            sides = [spec["a"], spec["b"]]
            parts = [
                [side["label"], _given(side["model"], _MODEL), _given(side["cell"], _CELL)]
                for side in sides
            ]
            parts.append(_given(spec, _COMPARISON))
        case "profile":
            cell = _given(spec["cell"], _CELL)
            parts = [_given(spec["model"], _MODEL), cell, _given(spec, _PROFILE)]
        case _:
            return None
    identity = json.dumps([VERSION, kind, list(models), parts], sort_keys=True)
    return hashlib.sha256(identity.encode()).hexdigest()


def _given(value: dict[str, Any], fields: Fields) -> Fields:
    """The fields that say more than nothing."""
    return {
        name: value[name] for name, default in fields.items() if value.get(name, default) != default
    }
