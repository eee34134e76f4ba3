"""write_page_tables.py [--check]: tables of the core that the page reads, as TypeScript.

``--check`` writes nothing, and fails when a file is not what it would write.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, get_args

from modeldyno.core.cell_axes import AXES, CellAxis
from modeldyno.core.documents.cells import CellDocument
from modeldyno.core.documents.described import json_text
from modeldyno.core.documents.figures import FigureColumn, figure_columns
from modeldyno.core.models import FORMATS, FormatEntry
from modeldyno.core.requests.checking import Range, hints
from modeldyno.core.requests.measuring import BenchmarkRequest, SideRequest
from modeldyno.core.specs import CellSpec

FOLDER = Path(__file__).parents[1] / "web" / "src" / "api"
HEAD = (
    "// Written by scripts/write_page_tables.py from {source}. Do not edit: run `make types`.\n\n"
)
OF_NUMBERS = ("noun", "title", "hint", "place", "capability", "needs_core_each")
# The page only shows what came of these.
OF_MEASURING = ("changes_shapes", "is_workload", "multiplies_items", "letter", "help")


def texts() -> dict[Path, str]:
    columns = figure_columns(CellDocument).items()
    figures = [{"name": name} | _shown(column) for name, column in columns]
    return {
        FOLDER / "axes.gen.ts": _table("AXES", "cell_axes.py", [_axis(axis) for axis in AXES]),
        FOLDER / "formats.gen.ts": _table(
            "FORMATS", "models.py", [_format(*entry) for entry in FORMATS.items()]
        ),
        FOLDER / "figures.gen.ts": _table("FIGURES", "documents/cells.py", figures),
        FOLDER / "plannedCell.gen.ts": _planned_cell(),
    }


def _table(name: str, source: str, rows: list[dict[str, Any]]) -> str:
    lines = [f"  {json.dumps(row, ensure_ascii=False)},\n" for row in rows]
    head = HEAD.format(source=f"src/modeldyno/core/{source}")
    return f"{head}export const {name} = [\n{''.join(lines)}] as const;\n"


def _planned_cell() -> str:
    """For the page's tests."""
    cell = CellDocument.planned(0, CellSpec(engine="onnxruntime"), "m.onnx")
    head = HEAD.format(source="src/modeldyno/core/documents/cells.py")
    kind = 'import type { CellDocument } from "@/api/schema.gen";\n\n'
    return f"{head}{kind}export const PLANNED: CellDocument = {json_text(cell)};\n"


def _shown(column: FigureColumn) -> dict[str, Any]:
    """Places in tables of text are no matter of the page."""
    return {name: value for name, value in asdict(column).items() if name != "has_place"}


def _format(name: str, entry: FormatEntry) -> dict[str, Any]:
    return {"name": name, "title": entry.title, "suffixes": entry.suffixes}


def _axis(axis: CellAxis) -> dict[str, Any]:
    """With what requests say of it: whether a side of a comparison has it, and the most that a
    server takes."""
    row = asdict(axis) | {"is_of_sides": axis.name in {field.name for field in fields(SideRequest)}}
    omitted = OF_MEASURING if axis.kind != "word" else (*OF_MEASURING, *OF_NUMBERS)
    row = {name: value for name, value in row.items() if name not in omitted}
    if axis.kind == "word":
        return row
    return row | {"capability": axis.capability or None, "most": _most(axis)}


def _most(axis: CellAxis) -> int:
    """``Annotated[tuple[Annotated[int, Range(1, 1024)], ...], …]``"""
    bounds = _ranges(hints(BenchmarkRequest)[axis.field])
    return int(min(most for bound in bounds for most in (bound.most, bound.server) if most))


def _ranges(annotation: Any) -> list[Range]:
    if isinstance(annotation, Range):
        return [annotation]
    return [bound for part in get_args(annotation) for bound in _ranges(part)]


def main(only_check: bool) -> None:
    stale = []
    for file, text in texts().items():
        if not file.exists() or file.read_text() != text:
            stale.append(file.name)
            if not only_check:
                file.write_text(text)
    if stale and only_check:
        sys.exit(f"stale: {', '.join(stale)}; run `make types`")


if __name__ == "__main__":
    main("--check" in sys.argv[1:])
