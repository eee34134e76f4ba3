"""When two specs ask for the same: the same command on the same models is run once more, not anew.

The fields that matter are named here with the value that stands for "not given". So a spec of an
older version, which lacks some, and one of a newer version, which has more, keep their identity. A
field that joins later is added with its default; only a change of meaning needs a new version.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from modeldyno.core.cell_axes import AXES
from modeldyno.core.codec import encode

if TYPE_CHECKING:
    from modeldyno.core.specs import BenchmarkSpec, ComparisonSpec, ProfileSpec, RunSpec

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
    **{axis.name: axis.usual for axis in AXES},
    "spinning": None,
    "contract": "api",
    "sandbox": "on",
    "options": {},
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


def fingerprint(spec: RunSpec, models: Sequence[int]) -> str | None:
    """Of a spec on models of those numbers; None for a kind that is never repeated."""
    parts = spec.identity()
    if parts is None:
        return None
    identity = json.dumps([VERSION, spec.kind, list(models), parts], sort_keys=True)
    return hashlib.sha256(identity.encode()).hexdigest()


def benchmark_identity(spec: BenchmarkSpec) -> list[Any]:
    cells = [non_default_fields(cell, _CELL) for cell in spec.cells]
    settings = non_default_fields(spec, _BENCHMARK)
    if spec.dataset is not None:
        settings["dataset"] = spec.dataset.identity()
    return [non_default_fields(spec.model, _MODEL), cells, settings]


def comparison_identity(spec: ComparisonSpec) -> list[Any]:
    sides = [
        [side.label, non_default_fields(side.model, _MODEL), non_default_fields(side.cell, _CELL)]
        for side in (spec.a, spec.b)
    ]
    return [*sides, non_default_fields(spec, _COMPARISON)]


def profile_identity(spec: ProfileSpec) -> list[Any]:
    return [
        non_default_fields(spec.model, _MODEL),
        non_default_fields(spec.cell, _CELL),
        non_default_fields(spec, _PROFILE),
    ]


def non_default_fields(value: object, fields: Fields) -> Fields:
    """The fields that say more than nothing, as JSON."""
    values = {name: encode(getattr(value, name)) for name in fields}
    return {name: values[name] for name, default in fields.items() if values[name] != default}
