"""Our own resource API: a file for each noun, loaded when its routes are built."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from modeldyno.api.v1 import (
        benchmark_by_name,
        benchmarks,
        comparisons,
        conversions,
        datasets,
        demo,
        distributions,
        engines,
        events,
        examples,
        files,
        graphs,
        inferences,
        jobs,
        judgements,
        model_kinds,
        models,
        notes,
        optimizations,
        profiles,
        projects,
        queue,
        runs,
        session,
        standings,
        system,
    )

__all__ = [
    "benchmark_by_name",
    "benchmarks",
    "comparisons",
    "conversions",
    "datasets",
    "demo",
    "distributions",
    "engines",
    "events",
    "examples",
    "files",
    "graphs",
    "inferences",
    "jobs",
    "judgements",
    "model_kinds",
    "models",
    "notes",
    "optimizations",
    "profiles",
    "projects",
    "queue",
    "runs",
    "session",
    "standings",
    "system",
]


def __getattr__(name: str) -> Any:
    if name in __all__:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
