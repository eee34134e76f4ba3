"""The kinds of runs: their classes, in one table. Everything else that differs between kinds is a
method of these classes, or an entry in the table of another layer.

A new kind is a new entry: ``KINDS["load"] = Kind(LoadSpec, LoadResult, Burst)``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from modeldyno.core.codec import Mismatch, decode
from modeldyno.core.conversions import ConversionResult
from modeldyno.core.graphs import Graph
from modeldyno.core.models import ModelFacts
from modeldyno.core.profiles import ProfileRepeat
from modeldyno.core.results import BenchmarkResult, ComparisonResult, ProfileResult, RunResult
from modeldyno.core.sessions import InferenceResult, Pair, Session
from modeldyno.core.specs import (
    BenchmarkSpec,
    ComparisonSpec,
    ConversionSpec,
    GraphSpec,
    InferenceSpec,
    InspectionSpec,
    OptimizationSpec,
    ProfileSpec,
    RunSpec,
)


@dataclass(frozen=True)
class Kind:
    spec: type[RunSpec]
    result: type[Any] | None = None  # a RunResult, if its runs are kept; None: none yet
    unit: type[Any] | None = None  # what a Unit of it holds


KINDS: dict[str, Kind] = {
    "benchmark": Kind(BenchmarkSpec, BenchmarkResult, Session),
    "comparison": Kind(ComparisonSpec, ComparisonResult, Pair),
    "profile": Kind(ProfileSpec, ProfileResult, ProfileRepeat),
    "optimization": Kind(OptimizationSpec),
    "inspection": Kind(InspectionSpec, ModelFacts),
    "graph": Kind(GraphSpec, Graph),
    "inference": Kind(InferenceSpec, InferenceResult),
    "conversion": Kind(ConversionSpec, ConversionResult),
}


def kept_kinds() -> list[str]:
    """Those whose runs are kept: they have a page, notes and a number."""
    return sorted(name for name, kind in KINDS.items() if kind.spec.is_kept)


def spec_from(stored: Any) -> RunSpec:
    """From its JSON, by its tag; raises Mismatch."""
    spec: RunSpec = decode(_kind_of(stored).spec, stored)
    return spec


def result_from(stored: Any) -> RunResult:
    """From its JSON, by the tag of its spec; raises Mismatch."""
    result_class = _kind_of(stored.get("spec") if isinstance(stored, dict) else None).result
    if result_class is None:
        raise Mismatch(f"a {stored['spec']['kind']} has no result")
    result: RunResult = decode(result_class, stored)
    return result


def unit_from(kind: str, stored: Any) -> Any:
    """The content of a unit, from its JSON; raises Mismatch."""
    return decode(KINDS[kind].unit, stored)


def _kind_of(spec: Any) -> Kind:
    tag = spec.get("kind") if isinstance(spec, dict) else None
    if not isinstance(tag, str) or tag not in KINDS:
        raise Mismatch(f"unknown kind {tag!r}")
    return KINDS[tag]
