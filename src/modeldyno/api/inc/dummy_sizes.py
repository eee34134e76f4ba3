"""What the shape of a dummy dataset says about the dimensions that a model leaves open."""

from __future__ import annotations

from typing import Any

from modeldyno.core.datasets import Dataset
from modeldyno.core.models import InputSpec, Model
from modeldyno.inputs.open_axes import open_axes, sizes_of
from modeldyno.services.boundaries import inputs_of

DUMMY = "dummy_v2"  # its shapes are without the batch


def sizes_said(dataset: Dataset | None, model: Model) -> dict[str, int]:
    """By the names that ``--dim`` knows; none where nothing is said, or where it does not fit."""
    shapes = _shapes(dataset)
    return (_fitting(shapes, inputs_of(model)) or {}) if shapes else {}


def changed_sizes(
    dims: dict[str, int], before: Dataset | None, after: Dataset | None, model: Model
) -> dict[str, int]:
    """``dims`` with what another dataset says instead of the one before."""
    replaced = sizes_said(before, model)
    kept = {name: size for name, size in dims.items() if name not in replaced}
    return kept | sizes_said(after, model)


def unfit_note(dataset: Dataset | None, model: Model) -> str:
    """ "" where the dataset says nothing, or something that fits."""
    shapes = _shapes(dataset)
    if not shapes or _fitting(shapes, inputs_of(model)) is not None:
        return ""
    said = ", ".join(str(list(shape)) for shape in shapes)
    return f"the dataset's shape {said} does not fit the model's inputs and was not used"


def _shapes(dataset: Dataset | None) -> list[tuple[int, ...]]:
    """One for each input; ``[3, 224, 224]`` is that of the only one."""
    found = dataset.parameters.get("input_shape") if dataset and dataset.kind == DUMMY else None
    if not isinstance(found, list) or not found:
        return []
    shapes = found if isinstance(found[0], list) else [found]
    return [tuple(shape) for shape in shapes if _is_shape(shape)]


def _is_shape(found: Any) -> bool:
    return isinstance(found, list) and all(type(size) is int and size > 0 for size in found)


def _fitting(shapes: list[tuple[int, ...]], inputs: tuple[InputSpec, ...]) -> dict[str, int] | None:
    """None when they contradict the model, or each other."""
    if len(shapes) != len(inputs):
        return None
    axes = open_axes(inputs)
    batch = {place for axis in axes if axis.is_batch for place in axis.places}
    said: dict[tuple[str, int], int] = {}
    for spec, shape in zip(inputs, shapes, strict=True):
        positions = [i for i in range(len(spec.shape or ())) if (spec.name, i) not in batch]
        if len(positions) == len(spec.shape or ()) == len(shape) + 1:
            if not isinstance((spec.shape or ())[0], int):
                return None
            positions = positions[1:]  # its batch is fixed
        if spec.shape is None or len(positions) != len(shape):
            return None
        said |= {(spec.name, i): size for i, size in zip(positions, shape, strict=True)}
    dims = {
        axis.name: said[axis.places[0]]
        for axis in axes
        if axis.places[0] in said and axis.formula is None  # sums follow from the others
    }
    sizes = sizes_of(axes, 0, 1, dims)
    fixed = {
        (spec.name, i): size
        for spec in inputs
        for i, size in enumerate(spec.shape or ())
        if isinstance(size, int)
    }
    fed = sizes | fixed
    return dims if all(fed[place] == size for place, size in said.items()) else None
