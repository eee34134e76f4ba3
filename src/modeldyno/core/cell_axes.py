"""The axes of a cell: what cells of a benchmark differ in, and how each axis is named and chosen.

Names of cells, tables, exports and the page read this table (`make types` writes it to
web/src/api/axes.gen.ts). An axis needs an entry here, its field in CellSpec, in
requests/measuring.py and in documents/cells.py, a column in the database, and its implementation;
nothing that only requests or shows it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class CellAxis:
    name: str  # of a cell, a side, and a key of config files: one value
    field: str  # of a benchmark's request and in the public JSON: several values
    short: str  # in the head of a table; as an option, --batch
    label: str  # in a list of settings
    depth: int  # in which cells are nested: neighbours in a table differ in the deepest
    usual: Any  # the default; left out of names unless is_always_named
    # Sizes are by name, of a model's open dimensions: {"seq": 128}.
    kind: Literal["word", "count", "sizes"] = "word"
    is_always_named: bool = False
    changes_shapes: bool = False  # of tensors: outputs are compared only where it is the same
    is_workload: bool = False  # what is computed rather than how: nothing else is ranked together
    # When lists show its column: always, if a value is unusual, or on demand.
    column: Literal["always", "unusual", "wanted"] = "unusual"
    variety: str = ""  # "core count": a plan of two has "2 core counts"; of sizes, "size of seq"
    # Of counts and sizes only, up to the end.
    noun: str = ""  # of one: "core" makes "2 cores"; without one it is "batch 8"
    title: str = ""  # of its field in a form
    hint: str = ""  # below that title
    # In a form: in front, below "More", or below "More" with a single value.
    place: Literal["front", "more", "single"] = "more"
    capability: str = ""  # of EngineDocument; engines without it only have the usual value
    needs_core_each: bool = False  # on a CPU, needs as many cores as its value
    multiplies_items: bool = False  # a call has that many times the items
    letter: str = ""  # of its option, -b
    help: str = ""  # of its option

    def words(self, value: Any) -> str:
        """``2 cores``, ``batch 8``, ``seq 128 · width 224``."""
        if self.kind == "sizes":
            return " · ".join(f"{name} {size}" for name, size in named_sizes(value).items())
        if not self.noun:
            return f"{self.short} {value}"
        return f"{value} {self.noun}" if value == 1 else f"{value} {self.noun}s"

    def varieties(self, values: Any) -> dict[str, int]:
        """Numbers of values by what they count: ``{"core count": 2}``, ``{"size of seq": 3}``."""
        if self.kind != "sizes":
            return {self.variety: len(values)}
        counts = {name: len(several(sizes)) for name, sizes in values.items()}
        return {f"{self.variety} of {name}": count for name, count in counts.items()}


def named_sizes(sizes: Mapping[str, Any] | None) -> dict[str, Any]:
    """Without the dimension "batch": the batch size is an axis of its own."""
    return {name: size for name, size in (sizes or {}).items() if name != "batch"}


def several(sizes: Any) -> tuple[int, ...]:
    """The sizes of one dimension, which may be a single number."""
    return tuple(sizes) if isinstance(sizes, tuple | list) else (sizes,)


AXES = (
    CellAxis(
        name="engine", field="engines", short="engine", label="engine", depth=0, usual="",
        column="always", variety="engine",
    ),
    CellAxis(
        name="device", field="devices", short="device", label="device", depth=1, usual="cpu",
        column="wanted", variety="device",
    ),
    CellAxis(
        name="precision", field="precisions", short="precision", label="precision", depth=2,
        usual=None, column="wanted", variety="precision",
    ),
    CellAxis(
        name="batch_size", field="batch_sizes", short="batch", label="batch size", depth=6,
        usual=1, kind="count", is_always_named=True, changes_shapes=True, multiplies_items=True,
        column="always", variety="batch size", title="Batch sizes", hint="Items in one call",
        place="front", letter="b", help="Batch sizes: 1,8,32.",
    ),
    CellAxis(
        name="cores", field="cores", short="cores", label="cores", depth=4, usual=1, kind="count",
        is_always_named=True, column="always", noun="core", variety="core count",
        title="Core counts", place="front", letter="c", help="Core counts: 1,2,4.",
    ),
    CellAxis(
        name="instances", field="instances", short="instances", label="instances", depth=3,
        usual=1, kind="count", column="wanted", noun="instance", variety="instance count",
        title="Instances", hint="Processes side by side", place="single",
        letter="i", help="Processes side by side: 1,2.",
    ),
    CellAxis(
        name="streams", field="streams", short="streams", label="streams", depth=5, usual=1,
        kind="count", noun="stream", variety="stream count", title="Streams",
        hint="Requests at a time", place="front", capability="has_streams", needs_core_each=True,
        multiplies_items=True, help="Requests at a time, of engines that have streams: 1,2.",
    ),
    CellAxis(
        name="dims", field="dims", short="dims", label="dimensions", depth=7, usual={},
        kind="sizes", changes_shapes=True, is_workload=True, variety="size",
        title="Open dimensions", hint="Empty: as the model suggests", place="more",
    ),
)  # fmt: skip
NAMES = tuple(axis.name for axis in AXES)
NESTED = tuple(sorted(AXES, key=lambda axis: axis.depth))
COUNTS = tuple(axis for axis in AXES if axis.kind == "count")
WORKLOAD = tuple(axis for axis in AXES if axis.is_workload)
SIZES = tuple(axis for axis in AXES if axis.kind == "sizes")
NESTED_NUMBERS = tuple(axis for axis in NESTED if axis.kind != "word")
# In the order of names: those always named come first.
NAMED_COUNTS = tuple(
    sorted((axis for axis in NESTED if axis.kind == "count"), key=lambda a: not a.is_always_named)
)
_MULTIPLYING = tuple(axis.name for axis in AXES if axis.multiplies_items)


def items_of(axes: Mapping[str, Any]) -> int:
    """Items per call, from the values of the axes; unknown ones count as 1."""
    return math.prod(axes[name] or 1 for name in _MULTIPLYING)
