"""Default names of runs, from their models and the settings that set them apart."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from modeldyno.core.cell_axes import NAMED_COUNTS
from modeldyno.core.names import name_of_file
from modeldyno.core.sessions import options_text
from modeldyno.core.specs import (
    BenchmarkSpec,
    CellSpec,
    ComparisonSpec,
    RunSpec,
)
from modeldyno.engines.catalog import title_of

_MAX_MODEL_NAME = 90  # characters, to leave room for the rest


def run_name(spec: RunSpec, models: Sequence[str]) -> str:
    """The name shown in lists; ``models`` are the names of the spec's models."""
    name = NAMES.get(spec.kind)
    return name(*models, spec) if name else " and ".join(models)


def benchmark_name(model: str, spec: BenchmarkSpec) -> str:
    """``net.onnx · OpenVINO``; the model's name alone if no engine was chosen."""
    engines = dict.fromkeys(title_of(cell.engine) for cell in spec.cells if cell.engine)
    return " · ".join(filter(None, (model[:_MAX_MODEL_NAME], ", ".join(engines)[:_MAX_MODEL_NAME])))


def comparison_name(a_model: str, b_model: str, spec: ComparisonSpec) -> str:
    """``net.onnx: ONNX Runtime against OpenVINO, 2 cores``, or ``old.onnx against new.onnx``."""
    a_settings, b_settings = _find_differing_settings(spec.a.cell, spec.b.cell)
    shared = _find_shared_settings(spec.a.cell, spec.b.cell)
    suffix = f", {shared}" if shared else ""
    a, b = a_model[:_MAX_MODEL_NAME], b_model[:_MAX_MODEL_NAME]
    if a == b and a_settings:
        return f"{a}: {a_settings} against {b_settings}{suffix}"
    return f"{_with_settings(a, a_settings)} against {_with_settings(b, b_settings)}{suffix}"


# By kind of spec; other kinds are named after their models.
NAMES: dict[str, Callable[..., str]] = {
    "benchmark": benchmark_name,
    "comparison": comparison_name,
}


def side_names(spec: ComparisonSpec) -> tuple[str, str]:
    """Both sides by the settings that differ, or by their labels, without any folder."""
    a, b = _find_differing_settings(spec.a.cell, spec.b.cell)
    if a and spec.a.model.path == spec.b.model.path:
        return a, b
    return name_of_file(spec.a.label), name_of_file(spec.b.label)


def _with_settings(model: str, settings: str) -> str:
    return f"{model} ({settings})" if settings else model


def _find_differing_settings(a: CellSpec, b: CellSpec) -> tuple[str, str]:
    """The settings that differ, of each side; both empty if none does."""
    pairs = [(x, y) for x, y in zip(_setting_texts(a), _setting_texts(b), strict=True) if x != y]
    return " · ".join(x for x, _ in pairs), " · ".join(y for _, y in pairs)


def _find_shared_settings(a: CellSpec, b: CellSpec) -> str:
    """The settings that both sides share and that are not the defaults."""
    defaults = _setting_texts(CellSpec())
    settings = zip(_setting_texts(a), _setting_texts(b), defaults, strict=True)
    return " · ".join(x for x, y, default in settings if x == y != default)


def _setting_texts(cell: CellSpec) -> tuple[str, ...]:
    """One text per axis; none is empty, or a difference would show on one side only."""
    return (
        title_of(cell.engine) if cell.engine else "first engine that reads it",
        cell.device,
        cell.precision or "its own precision",
        *(axis.words(getattr(cell, axis.name)) for axis in NAMED_COUNTS),
        "spinning" if cell.spinning else "not spinning" if cell.spinning is False else "as usual",
        f"contract {cell.contract}",
        options_text(cell.options),
    )
