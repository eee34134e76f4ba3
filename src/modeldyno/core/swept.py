"""The axes of a benchmark: what its cells were multiplied from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from modeldyno.core.specs import CellSpec


@dataclass(frozen=True)
class Axes:
    """Each value once, in the order of the cells; no engine or precision means: the usual one."""

    engines: tuple[str, ...]
    batch_sizes: tuple[int, ...]
    cores: tuple[int, ...]
    instances: tuple[int, ...]
    devices: tuple[str, ...]
    precisions: tuple[str, ...]
    streams: tuple[int, ...]


def axes_of(cells: Sequence[CellSpec]) -> Axes:
    return Axes(
        engines=tuple(name for name in _values(cells, "engine") if name),
        batch_sizes=_values(cells, "batch_size"),
        cores=_values(cells, "cores"),
        instances=_values(cells, "instances"),
        devices=_values(cells, "device"),
        precisions=tuple(name for name in _values(cells, "precision") if name is not None),
        streams=_values(cells, "streams"),
    )


def _values(cells: Sequence[CellSpec], name: str) -> tuple[Any, ...]:
    return tuple(dict.fromkeys(getattr(cell, name) for cell in cells))
