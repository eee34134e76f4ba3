"""The axes of a cell: what cells of a benchmark differ in, and how each axis is named and chosen.

Names of cells, tables, exports and the page read this table (`make types` writes it to
web/src/api/axes.gen.ts). An axis that is a number needs an entry here, its field in CellSpec, in
the requests and in the documents, and whoever implements it; nothing that only shows it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class CellAxis:
    name: str  # of a cell, a side, and a key of config files: one value
    field: str  # of a benchmark's request and in the public JSON: several values
    short: str  # in the head of a table; as an option, --batch
    label: str  # in a list of settings
    depth: int  # in which cells are nested: neighbours in a table differ in the deepest
    usual: str | int | None  # the value of who does not choose; not said unless is_always_named
    kind: Literal["word", "count"] = "word"
    is_always_named: bool = False
    # Whether lists show its column: always, where a value is unusual, or when somebody wants it.
    column: Literal["always", "unusual", "wanted"] = "unusual"
    # Of counts only, up to the end.
    noun: str = ""  # of one: "core" makes "2 cores"; without one it is "batch 8"
    variety: str = ""  # "core count": a plan of two has "2 core counts"
    title: str = ""  # of its field in a form
    hint: str = ""  # below that title
    # Where a form has it: in sight, below "More", or there with one value only.
    place: Literal["front", "more", "single"] = "more"
    capability: str = ""  # of EngineDocument: others only have the usual value
    needs_core_each: bool = False  # on a CPU, as many cores as this number

    def words(self, value: int) -> str:
        """``2 cores``, ``batch 8``."""
        if not self.noun:
            return f"{self.short} {value}"
        return f"{value} {self.noun}" if value == 1 else f"{value} {self.noun}s"


AXES = (
    CellAxis(
        name="engine", field="engines", short="engine", label="engine", depth=0, usual="",
        column="always",
    ),
    CellAxis(
        name="device", field="devices", short="device", label="device", depth=1, usual="cpu",
        column="wanted",
    ),
    CellAxis(
        name="precision", field="precisions", short="precision", label="precision", depth=2,
        usual=None, column="wanted",
    ),
    CellAxis(
        name="batch_size", field="batch_sizes", short="batch", label="batch size", depth=6,
        usual=1, kind="count", is_always_named=True, column="always", variety="batch size",
        title="Batch sizes", hint="Items in one call", place="front",
    ),
    CellAxis(
        name="cores", field="cores", short="cores", label="cores", depth=4, usual=1, kind="count",
        is_always_named=True, column="always", noun="core", variety="core count",
        title="Core counts", place="front",
    ),
    CellAxis(
        name="instances", field="instances", short="instances", label="instances", depth=3,
        usual=1, kind="count", column="wanted", noun="instance", variety="instance count",
        title="Instances", hint="Processes side by side", place="single",
    ),
    CellAxis(
        name="streams", field="streams", short="streams", label="streams", depth=5, usual=1,
        kind="count", noun="stream", variety="stream count", title="Streams",
        hint="Requests at a time", place="front", capability="has_streams", needs_core_each=True,
    ),
)  # fmt: skip
NAMES = tuple(axis.name for axis in AXES)
NESTED = tuple(sorted(AXES, key=lambda axis: axis.depth))
COUNTS = tuple(axis for axis in AXES if axis.kind == "count")
NESTED_COUNTS = tuple(axis for axis in NESTED if axis.kind == "count")
# As names go through them: what is always said comes first.
NAMED_COUNTS = tuple(sorted(NESTED_COUNTS, key=lambda axis: not axis.is_always_named))
