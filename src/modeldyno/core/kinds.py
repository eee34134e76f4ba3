"""The kinds of runs: their classes, in one table. Whatever else differs between kinds is a method
of those classes, or an entry in the table of another layer.

One more kind is one more entry: ``KINDS["load"] = Kind(LoadSpec, LoadResult, Burst)``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from modeldyno.core.codec import Mismatch, decode
from modeldyno.core.conversions import ConversionResult
from modeldyno.core.graphs import Graph
from modeldyno.core.models import ModelFacts
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
from modeldyno.core.traces import ProfileRepeat


@dataclass(frozen=True)
class Kind:
    spec: type[RunSpec]
    result: type[Any] | None = None  # a RunResult, if its runs are kept; None: it has none yet
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
    """Those whose runs are kept: what has a page, notes and a number."""
    return sorted(name for name, kind in KINDS.items() if kind.spec.is_kept)


def spec_from(data: Any) -> RunSpec:
    """From its JSON, by its tag; raises Mismatch."""
    spec: RunSpec = decode(_kind_of(data).spec, data)
    return spec


def result_from(data: Any) -> RunResult:
    """From its JSON, by the tag of its spec; raises Mismatch."""
    result = _kind_of(data.get("spec") if isinstance(data, dict) else None).result
    if result is None:
        raise Mismatch(f"a {data['spec']['kind']} has no result")
    decoded: RunResult = decode(result, data)
    return decoded


def unit_from(kind: str, data: Any) -> Any:
    """What a unit of such a run holds, from its JSON; raises Mismatch."""
    return decode(KINDS[kind].unit, data)


def _kind_of(data: Any) -> Kind:
    tag = data.get("kind") if isinstance(data, dict) else None
    if not isinstance(tag, str) or tag not in KINDS:
        raise Mismatch(f"unknown kind {tag!r}")
    return KINDS[tag]
