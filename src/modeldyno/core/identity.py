"""When two specs are equal: the same command on the same models reruns the same benchmark.

The fields that matter are listed here with their defaults. So specs of older versions, which lack
some fields, and of newer ones, which have more, keep their identity. New fields are added with
their defaults; only a change of meaning needs a new version.
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
# Without ``fail_if_slower``: a gate does not change what is measured.
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
    """Of a spec on the models with these numbers; None for a kind that is never repeated."""
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


def non_default_fields(source: object, fields: Fields) -> Fields:
    """The fields of ``source`` that differ from these defaults, as JSON values."""
    values = {name: encode(getattr(source, name)) for name in fields}
    return {name: values[name] for name, default in fields.items() if values[name] != default}
