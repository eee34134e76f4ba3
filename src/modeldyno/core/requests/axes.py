"""The axes of a benchmark: what its cells are multiplied from."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any, TypeVar

from modeldyno.core.cell_axes import AXES, NAMES, NESTED, SIZES, CellAxis, several
from modeldyno.core.documents.described import field_names
from modeldyno.core.errors import BadValue
from modeldyno.core.sessions import SessionFacts
from modeldyno.core.specs import CellSpec

MOST_CELLS = 200
T = TypeVar("T")


def axis_names(kind: Any) -> tuple[str, ...]:
    """Those that a dataclass has a field for: a side of a comparison has not all."""
    return tuple(name for name in NAMES if name in field_names(kind))


def axis_fields(cell: object, kind: Any = CellSpec) -> dict[str, Any]:
    """Of anything that has a cell's axes: the value of each that ``kind`` has, by its name."""
    return {name: getattr(cell, name) for name in axis_names(kind)}


def as_ran(spec: CellSpec, batch_size: int, facts: SessionFacts | None) -> CellSpec:
    """A cell as it really ran, where that is known."""
    if facts is None:
        return replace(spec, batch_size=batch_size)
    precision = facts.precision or spec.precision
    read_back = axis_fields(facts, SessionFacts) | {"precision": precision}
    return replace(spec, **read_back | {"batch_size": batch_size})


def is_alike(one: object, other: object, axes: Iterable[CellAxis]) -> bool:
    return all(getattr(one, axis.name) == getattr(other, axis.name) for axis in axes)


def unique(values: Iterable[T]) -> list[T]:
    """Each once, in their order; they need not be hashable."""
    kept: list[T] = []
    for value in values:
        if value not in kept:
            kept.append(value)
    return kept


# ---------------------------------------------------------------- values of several cells


def values_of(axis: CellAxis, cells: Iterable[object]) -> Any:
    """Each value once, in the order of the cells: a list, or of sizes, lists by their names. No
    engine and no precision means the usual one."""
    values = unique(getattr(cell, axis.name) for cell in cells)
    if axis.kind != "sizes":
        return [value for value in values if value not in ("", None)]
    sizes = [sizes or {} for sizes in values]
    names = unique(name for each in sizes for name in each)
    return {name: unique(each[name] for each in sizes if name in each) for name in names}


def axis_values(cells: Sequence[CellSpec]) -> dict[str, Any]:
    """What a request says of these cells, by the axis's field."""
    said = {}
    for axis in AXES:
        values = values_of(axis, cells)
        said[axis.field] = _as_said(values) if axis.kind == "sizes" else tuple(values)
    return said


def _as_said(sizes: Mapping[str, Sequence[int]]) -> dict[str, Any]:
    return {name: tuple(own) if len(own) > 1 else own[0] for name, own in sizes.items()}


def differences(cells: Sequence[CellSpec]) -> str:
    """What cells are multiplied from: ``2 core counts × 3 sizes of seq``; empty of one cell."""
    counts: dict[str, int] = {}
    for axis in NESTED:
        counts |= axis.varieties(values_of(axis, cells))
    parts = ((count, *what.partition(" of ")) for what, count in counts.items() if count > 1)
    return " × ".join(f"{count} {noun}s{of}{name}" for count, noun, of, name in parts)


# ---------------------------------------------------------------- from requests


def axis_choices(request: Any) -> dict[str, tuple[Any, ...]]:
    """The values that a request has of each axis, whether it may have several or one. Raises
    BadValue for sizes that cannot be combined."""
    values = {}
    for axis in AXES:
        value = getattr(request, axis.field, None)
        if axis.kind == "sizes":
            values[axis.field] = _combined(value or {})
        elif isinstance(value, tuple | list):
            values[axis.field] = tuple(value)
        elif getattr(request, axis.name, None) is not None:
            values[axis.field] = (getattr(request, axis.name),)
    return values


def combinations(values: Mapping[str, Sequence[Any]]) -> Iterator[dict[str, Any]]:
    """One dictionary of a cell's fields for each combination, none of them twice; ``values`` by
    the axis's field, nothing or absent: as usual."""
    choices = [unique(values.get(axis.field) or (axis.usual,)) for axis in NESTED]
    names = [axis.name for axis in NESTED]
    return (dict(zip(names, each, strict=True)) for each in product(*choices))


def shared_sizes(sizes: Mapping[str, Any]) -> dict[str, int]:
    """Those that all cells have: of dimensions with one size."""
    return {name: several(own)[0] for name, own in sizes.items() if len(several(own)) == 1}


def sizes_of(cell: CellSpec) -> dict[str, int]:
    """Those of a cell itself."""
    return {name: size for axis in SIZES for name, size in getattr(cell, axis.name).items()}


def _combined(sizes: Mapping[str, Any]) -> tuple[dict[str, int], ...]:
    """Every combination of those with several sizes."""
    own = {name: several(own) for name, own in sizes.items() if len(several(own)) > 1}
    for name, numbers in own.items():
        if len(set(numbers)) < len(numbers):
            raise BadValue(f"{name} has a size twice", fix="Give each size once")
        if name == "batch":
            listed = ",".join(map(str, numbers))
            raise BadValue(
                "The dimension batch takes one size",
                why="several batches are an axis of their own",
                fix=f"Use --batch {listed}",
            )
    count = math.prod(map(len, own.values()))
    if count > MOST_CELLS:
        raise BadValue(
            f"{count} combinations of sizes are too many", fix=f"Stay below {MOST_CELLS}"
        )
    return tuple(dict(zip(own, each, strict=True)) for each in product(*own.values()))
