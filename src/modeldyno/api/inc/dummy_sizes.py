"""Sizes of a model's open dimensions, from the shape of a dummy dataset."""

from __future__ import annotations

from typing import Any

from modeldyno.core.datasets import Dataset
from modeldyno.core.models import InputSpec, Model
from modeldyno.inputs.open_axes import choose_sizes, find_open_axes
from modeldyno.services.graph_boundaries import inputs_of

DUMMY = "dummy_v2"  # its shapes are without the batch


def sizes_from_dataset(dataset: Dataset | None, model: Model) -> dict[str, int]:
    """By the names that ``--dim`` knows; empty if the dataset has no shapes or they do not fit."""
    shapes = _dummy_shapes(dataset)
    return (_find_fitting_sizes(shapes, inputs_of(model)) or {}) if shapes else {}


def changed_sizes(
    dims: dict[str, int], old: Dataset | None, new: Dataset | None, model: Model
) -> dict[str, int]:
    """``dims`` with the sizes of the old dataset replaced by those of the new one."""
    replaced = sizes_from_dataset(old, model)
    kept = {name: size for name, size in dims.items() if name not in replaced}
    return kept | sizes_from_dataset(new, model)


def note_if_unfit(dataset: Dataset | None, model: Model) -> str:
    """Empty if the dataset has no shapes, or they fit."""
    shapes = _dummy_shapes(dataset)
    if not shapes or _find_fitting_sizes(shapes, inputs_of(model)) is not None:
        return ""
    listed = ", ".join(str(list(shape)) for shape in shapes)
    return f"the dataset's shape {listed} does not fit the model's inputs and was not used"


def _dummy_shapes(dataset: Dataset | None) -> list[tuple[int, ...]]:
    """One for each input; a flat list is the shape of a single input."""
    value = dataset.parameters.get("input_shape") if dataset and dataset.kind == DUMMY else None
    if not isinstance(value, list) or not value:
        return []
    shapes = value if isinstance(value[0], list) else [value]
    return [tuple(shape) for shape in shapes if _is_shape(shape)]


def _is_shape(value: Any) -> bool:
    return isinstance(value, list) and all(type(size) is int and size > 0 for size in value)


def _find_fitting_sizes(
    shapes: list[tuple[int, ...]], inputs: tuple[InputSpec, ...]
) -> dict[str, int] | None:
    """Sizes by dimension; None if the shapes contradict the model or each other."""
    if len(shapes) != len(inputs):
        return None
    axes = find_open_axes(inputs)
    batch = {place for axis in axes if axis.is_batch for place in axis.places}
    sizes_at: dict[tuple[str, int], int] = {}
    for spec, shape in zip(inputs, shapes, strict=True):
        positions = [i for i in range(len(spec.shape or ())) if (spec.name, i) not in batch]
        if len(positions) == len(spec.shape or ()) == len(shape) + 1:
            if not isinstance((spec.shape or ())[0], int):
                return None
            positions = positions[1:]  # its batch is fixed
        if spec.shape is None or len(positions) != len(shape):
            return None
        sizes_at |= {(spec.name, i): size for i, size in zip(positions, shape, strict=True)}
    dims = {
        axis.name: sizes_at[axis.places[0]]
        for axis in axes
        if axis.places[0] in sizes_at and axis.formula is None  # formulas follow from the others
    }
    sizes = choose_sizes(axes, 0, 1, dims)
    fixed = {
        (spec.name, i): size
        for spec in inputs
        for i, size in enumerate(spec.shape or ())
        if isinstance(size, int)
    }
    fed = sizes | fixed
    return dims if all(fed[place] == size for place, size in sizes_at.items()) else None
