"""The kinds of what can be run: what the store has to know of each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, fields, is_dataclass
from functools import cached_property, partial
from typing import Any, get_type_hints

from modeldyno.core.benchmarks import Benchmark, NewBenchmark
from modeldyno.core.cell_axes import NAMES
from modeldyno.core.codec import decode
from modeldyno.core.comparisons import Comparison, NewComparison
from modeldyno.core.optimizations import NewOptimization, Optimization
from modeldyno.core.profiles import NewProfile, Profile, spec_of
from modeldyno.core.runs import RunKind, RunSummary
from modeldyno.core.specs import BenchmarkSpec, CellSpec, ComparisonSpec, MeasuringSpec
from modeldyno.core.summaries import summarise_spec

# The roles of models and datasets, by the field that has their number; and the column for it.
ROLES = {
    "model_id": ("model", "model_id"),
    "a_model_id": ("a", "model_id"),
    "b_model_id": ("b", "model_id"),
    "dataset_id": ("dataset", "dataset_id"),
}
_COLUMNS = ("project_id", "name", "rerun_of", "fingerprint")

Fields = dict[str, Any]


@dataclass(frozen=True)
class Kind:
    """``new`` and ``value`` are its classes in ``core``, before and after it has a number.

    Fields of ``new`` are columns, links, or its ``own``, which are kept as JSON.
    """

    name: RunKind
    new: type[Any]
    value: type[Any]
    spec: Callable[[Fields], MeasuringSpec | None]  # from its own fields
    outline: Callable[[Fields], Fields] = lambda own: {}  # what lists show of them

    @cached_property
    def links(self) -> tuple[str, ...]:
        return tuple(field.name for field in fields(self.new) if field.name in ROLES)

    @cached_property
    def own(self) -> dict[str, Callable[[Any], Any]]:
        """How to read each from its JSON."""
        hints = get_type_hints(self.new)
        return {
            name: partial(decode, hint) if is_dataclass(hint) else _as_it_is
            for name, hint in hints.items()
            if name not in (*_COLUMNS, *ROLES)
        }

    def draft(self, own: Fields) -> RunSummary:
        """What lists show before the first run: what was asked, and no figures."""
        spec = self.spec(own)
        return RunSummary() if spec is None else summarise_spec(spec)


def _as_it_is(value: Any) -> Any:
    return value


def _outline_of_benchmark(own: Fields) -> Fields:
    cells = [asdict(decode(CellSpec, cell)) for cell in own["spec"]["cells"]]
    axes = [{name: cell[name] for name in NAMES} for cell in cells]
    return {"mode": own["mode"], "cells": axes}


KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind(
            "benchmark",
            NewBenchmark,
            Benchmark,
            lambda own: decode(BenchmarkSpec, own["spec"]),
            _outline_of_benchmark,
        ),
        Kind(
            "comparison",
            NewComparison,
            Comparison,
            lambda own: decode(ComparisonSpec, own["spec"]),
        ),
        Kind("optimization", NewOptimization, Optimization, lambda own: None),
        Kind("profile", NewProfile, Profile, lambda own: spec_of(own["settings"])),
    )
}
KIND_OF = {kind.new: kind for kind in KINDS.values()}
