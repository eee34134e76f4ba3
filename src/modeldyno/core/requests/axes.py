"""The axes of a benchmark: what its cells are multiplied from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from itertools import product
from typing import Any

from modeldyno.core.cell_axes import AXES, NAMES, NESTED
from modeldyno.core.sessions import SessionFacts
from modeldyno.core.specs import CellSpec

_READ_BACK = {field.name for field in fields(SessionFacts)}


def axis_fields(cell: object) -> dict[str, Any]:
    """Of anything that has a cell's axes: the value of each, by its name."""
    return {name: getattr(cell, name) for name in NAMES}


def as_ran(spec: CellSpec, batch_size: int, facts: SessionFacts | None) -> CellSpec:
    """A cell as it really ran, where that is known."""
    if facts is None:
        return replace(spec, batch_size=batch_size)
    read_back = {name: getattr(facts, name) for name in NAMES if name in _READ_BACK}
    precision = facts.precision or spec.precision
    return replace(spec, **read_back | {"batch_size": batch_size, "precision": precision})


def axis_values(cells: Sequence[CellSpec]) -> dict[str, Any]:
    """By the axis's field: each value once, in the order of the cells; no engine and no precision
    means the usual one."""
    found = {}
    for axis in AXES:
        values = dict.fromkeys(getattr(cell, axis.name) for cell in cells)
        found[axis.field] = tuple(value for value in values if value not in ("", None))
    return found


def combinations(values: Mapping[str, Sequence[Any]]) -> Iterator[dict[str, Any]]:
    """One dictionary of a cell's fields for each combination, none of them twice; ``values`` by
    the axis's field, nothing or absent: as usual."""
    several = [dict.fromkeys(values.get(axis.field) or (axis.usual,)) for axis in NESTED]
    names = [axis.name for axis in NESTED]
    return (dict(zip(names, each, strict=True)) for each in product(*several))


def chosen(request: Any) -> dict[str, tuple[Any, ...]]:
    """The values that a request has of each axis, whether it may have several or one."""
    found = {}
    for axis in AXES:
        if hasattr(request, axis.field) and isinstance(getattr(request, axis.field), tuple | list):
            found[axis.field] = tuple(getattr(request, axis.field))
        elif getattr(request, axis.name, None) is not None:
            found[axis.field] = (getattr(request, axis.name),)
    return found
