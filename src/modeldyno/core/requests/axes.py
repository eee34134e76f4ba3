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
    """The axes that a dataclass has a field for: a side of a comparison lacks some."""
    return tuple(name for name in NAMES if name in field_names(kind))


def axis_fields(cell: object, kind: Any = CellSpec) -> dict[str, Any]:
    """The values of a cell's axes by name, of those that ``kind`` has."""
    return {name: getattr(cell, name) for name in axis_names(kind)}


def with_effective_settings(
    spec: CellSpec, batch_size: int, facts: SessionFacts | None
) -> CellSpec:
    """A cell as it actually ran, as far as known."""
    if facts is None:
        return replace(spec, batch_size=batch_size)
    precision = facts.precision or spec.precision
    read_back = axis_fields(facts, SessionFacts) | {"precision": precision}
    return replace(spec, **read_back | {"batch_size": batch_size})


def has_same_axes(a: object, b: object, axes: Iterable[CellAxis]) -> bool:
    return all(getattr(a, axis.name) == getattr(b, axis.name) for axis in axes)


def drop_duplicates(values: Iterable[T]) -> list[T]:
    """Without duplicates, in order; the values need not be hashable."""
    kept: list[T] = []
    for each in values:
        if each not in kept:
            kept.append(each)
    return kept


# ---------------------------------------------------------------- values of several cells


def values_of(axis: CellAxis, cells: Iterable[object]) -> Any:
    """Each value once, in the order of the cells: a list, or for sizes, lists by name. Without
    defaults of engine and precision."""
    values = drop_duplicates(getattr(cell, axis.name) for cell in cells)
    if axis.kind != "sizes":
        return [each for each in values if each not in ("", None)]
    sizes = [sizes or {} for sizes in values]
    names = drop_duplicates(name for each in sizes for name in each)
    return {name: drop_duplicates(each[name] for each in sizes if name in each) for name in names}


def axis_values(cells: Sequence[CellSpec]) -> dict[str, Any]:
    """The fields of a request for these cells."""
    fields: dict[str, Any] = {}
    for axis in AXES:
        values = values_of(axis, cells)
        if axis.kind == "sizes":
            fields[axis.field] = {
                name: tuple(own) if len(own) > 1 else own[0] for name, own in values.items()
            }
        else:
            fields[axis.field] = tuple(values)
    return fields


def differences(cells: Sequence[CellSpec]) -> str:
    """What cells differ in: ``2 core counts × 3 sizes of seq``; empty for a single cell."""
    counts: dict[str, int] = {}
    for axis in NESTED:
        sizes = drop_duplicates(getattr(cell, axis.name) for cell in cells)
        if axis.kind == "sizes" and any(each.keys() != sizes[0].keys() for each in sizes):
            counts[axis.variety] = len(sizes)  # the phases of a decoder have no size in common
        else:
            counts |= axis.varieties(values_of(axis, cells))
    parts = ((count, *words.partition(" of ")) for words, count in counts.items() if count > 1)
    return " × ".join(f"{count} {noun}s{of}{name}" for count, noun, of, name in parts)


# ---------------------------------------------------------------- from requests


def axis_choices(request: Any) -> dict[str, tuple[Any, ...]]:
    """The values of each axis in a request for one or several cells. Raises BadValue for sizes
    that cannot be combined."""
    values = {}
    for axis in AXES:
        choices = getattr(request, axis.field, None)
        if axis.kind == "sizes":
            values[axis.field] = _combine_sizes(choices or {})
        elif isinstance(choices, tuple | list):
            values[axis.field] = tuple(choices)
        elif getattr(request, axis.name, None) is not None:
            values[axis.field] = (getattr(request, axis.name),)
    return values


def combinations(values: Mapping[str, Sequence[Any]]) -> Iterator[dict[str, Any]]:
    """The fields of a cell for each combination, without duplicates; ``values`` by field of the
    axis, which has its default if they are empty or absent."""
    choices = [drop_duplicates(values.get(axis.field) or (axis.usual,)) for axis in NESTED]
    names = [axis.name for axis in NESTED]
    return (dict(zip(names, each, strict=True)) for each in product(*choices))


def shared_sizes(sizes: Mapping[str, Any]) -> dict[str, int]:
    """The sizes that all cells share: of dimensions with one size."""
    return {name: several(own)[0] for name, own in sizes.items() if len(several(own)) == 1}


def sizes_of(cell: CellSpec) -> dict[str, int]:
    """The sizes of a cell itself."""
    return {name: size for axis in SIZES for name, size in getattr(cell, axis.name).items()}


def _combine_sizes(sizes: Mapping[str, Any]) -> tuple[dict[str, int], ...]:
    """Every combination of the dimensions with several sizes."""
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
