"""Names of what is measured, from what tells it apart from its like."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from modeldyno.core.cell_axes import NAMED_COUNTS
from modeldyno.core.names import name_of_file
from modeldyno.core.options import options_told
from modeldyno.core.specs import (
    BenchmarkSpec,
    CellSpec,
    ComparisonSpec,
    RunSpec,
)
from modeldyno.engines.catalog import title_of

_LONGEST = 90  # of a model's name, so that the rest has room


def run_name(spec: RunSpec, models: Sequence[str]) -> str:
    """As what lists show it; ``models`` is what people call those of the spec."""
    name = NAMES.get(spec.kind)
    return name(*models, spec) if name else " and ".join(models)


def benchmark_name(model: str, spec: BenchmarkSpec) -> str:
    """``net.onnx · OpenVINO``; the model's name alone where no engine was asked for."""
    engines = dict.fromkeys(title_of(cell.engine) for cell in spec.cells if cell.engine)
    return " · ".join(filter(None, (model[:_LONGEST], ", ".join(engines)[:_LONGEST])))


def comparison_name(a_model: str, b_model: str, spec: ComparisonSpec) -> str:
    """``net.onnx: ONNX Runtime against OpenVINO, 2 cores``, or ``old.onnx against new.onnx``."""
    a, b = _apart(spec.a.cell, spec.b.cell)
    at = _shared(spec.a.cell, spec.b.cell)
    beyond = f", {at}" if at else ""
    one, other = a_model[:_LONGEST], b_model[:_LONGEST]
    if one == other:
        return f"{one}: {a} against {b}{beyond}" if a else f"{one} against {other}{beyond}"
    return f"{_with(one, a)} against {_with(other, b)}{beyond}"


# By the kind of the spec; all others go by the names of their models.
NAMES: dict[str, Callable[..., str]] = {
    "benchmark": benchmark_name,
    "comparison": comparison_name,
}


def side_names(spec: ComparisonSpec) -> tuple[str, str]:
    """Both sides by what tells them apart: settings, or else their labels, without any folder."""
    a, b = _apart(spec.a.cell, spec.b.cell)
    if a and spec.a.model.path == spec.b.model.path:
        return a, b
    return name_of_file(spec.a.label), name_of_file(spec.b.label)


def _with(model: str, settings: str) -> str:
    return f"{model} ({settings})" if settings else model


def _apart(a: CellSpec, b: CellSpec) -> tuple[str, str]:
    """What differs, each side's own; empty where nothing does."""
    pairs = [(one, other) for one, other in zip(_words(a), _words(b), strict=True) if one != other]
    return " · ".join(one for one, _ in pairs), " · ".join(other for _, other in pairs)


def _shared(a: CellSpec, b: CellSpec) -> str:
    """Of what both have, that which is not as usual."""
    usual = _words(CellSpec())
    both = zip(_words(a), _words(b), usual, strict=True)
    found = [one for one, other, plain in both if one == other != plain]
    return " · ".join(found)


def _words(cell: CellSpec) -> tuple[str, ...]:
    """One for each axis; none is empty, or a difference would be told on one side only."""
    return (
        title_of(cell.engine) if cell.engine else "first engine that reads it",
        cell.device,
        cell.precision or "its own precision",
        *(axis.words(getattr(cell, axis.name)) for axis in NAMED_COUNTS),
        "spinning" if cell.spinning else "not spinning" if cell.spinning is False else "as usual",
        f"contract {cell.contract}",
        options_told(cell.options),
    )
