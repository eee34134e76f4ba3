"""How the kinds of runnables are stored, if there is more to store than a spec."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import cached_property, partial
from typing import Any, get_type_hints

from modeldyno.core.benchmarks import Benchmark, Comparison, NewBenchmark, NewComparison
from modeldyno.core.codec import decode, encode
from modeldyno.core.documents.runnables import SummaryDocument
from modeldyno.core.kinds import spec_from
from modeldyno.core.optimizations import NewOptimization, Optimization
from modeldyno.core.profiles import NewProfile, Profile, spec_of
from modeldyno.core.runs import NewPlainRunnable, PlainRunnable, RunKind
from modeldyno.core.specs import BenchmarkSpec, OptimizationSpec, RunSpec
from modeldyno.store.documents import summarise_axes_and_noise

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
class KindMapping:
    """``new`` and ``value`` are its classes in ``core``, before and after it has a number.

    Fields of ``new`` are columns, links, or its ``own``, which are stored as JSON.
    """

    name: RunKind
    new: type[Any] = NewPlainRunnable
    value: type[Any] = PlainRunnable
    spec: Callable[[Fields], RunSpec | None] = lambda own: spec_from(own["spec"])
    of_spec: Callable[[Any], Fields] = lambda spec: {"spec": spec}  # its own fields
    # What lists show of its own fields, and of the rows of its latest cells.
    outline: Callable[[Fields, Sequence[Any]], Fields] = lambda own, cells: {}

    @cached_property
    def links(self) -> tuple[str, ...]:
        return tuple(field.name for field in fields(self.new) if field.name in ROLES)

    @cached_property
    def model_links(self) -> tuple[str, ...]:
        """In the order of the models of its spec."""
        return tuple(field for field in self.links if ROLES[field][1] == "model_id")

    @cached_property
    def own(self) -> dict[str, Callable[[Any], Any]]:
        """Its own fields, each with what decodes it."""
        hints = get_type_hints(self.new)
        return {
            name: _make_field_reader(hint)
            for name, hint in hints.items()
            if name not in (*_COLUMNS, *ROLES)
        }

    def draft(self, own: Fields) -> SummaryDocument:
        """The summary before the first run: settings without figures."""
        spec = self.spec(own)
        return SummaryDocument() if spec is None else SummaryDocument.of_spec(spec)


def _make_field_reader(hint: Any) -> Callable[[Any], Any]:
    if hint is RunSpec:
        return spec_from
    return partial(decode, hint) if is_dataclass(hint) else lambda value: value


def _benchmark_outline(own: Fields, cells: Sequence[Any]) -> Fields:
    """Of cells that have run, or of those to run."""
    cells = cells or decode(BenchmarkSpec, own["spec"]).configurations()
    return {"mode": own["mode"]} | summarise_axes_and_noise(cells)


def _optimization_fields(spec: OptimizationSpec) -> Fields:
    return {"type": spec.type, "precision": spec.precision, "settings": encode(spec.settings)}


class _Kinds(dict[str, KindMapping]):
    def __missing__(self, name: str) -> KindMapping:
        """A kind that stores its spec and nothing else."""
        return self.setdefault(name, KindMapping(name))


KINDS = _Kinds(
    benchmark=KindMapping("benchmark", NewBenchmark, Benchmark, outline=_benchmark_outline),
    comparison=KindMapping("comparison", NewComparison, Comparison),
    optimization=KindMapping(
        "optimization", NewOptimization, Optimization, lambda own: None, _optimization_fields
    ),
    profile=KindMapping(
        "profile",
        NewProfile,
        Profile,
        lambda own: spec_of(own["settings"]),
        lambda spec: {"settings": encode(spec)},
    ),
)
_BY_CLASS = {kind.new: kind for kind in KINDS.values()}


def mapping_of_new(new: Any) -> KindMapping:
    return _BY_CLASS.get(type(new)) or KINDS[new.spec.kind]
