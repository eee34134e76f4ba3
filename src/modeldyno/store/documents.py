"""Documents in rows: JSON text that is written when a run ends, and served as it is.

The ``revision`` of a row says which version wrote its documents. Older ones are upgraded when they
are read, until ``store/rebuilding.py`` has rewritten them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any, get_args

from modeldyno.core.benchmarks import CellFigures
from modeldyno.core.cell_axes import AXES, NAMES
from modeldyno.core.documents.cells import CellDocument, EffectiveDocument
from modeldyno.core.documents.described import json_text, json_value
from modeldyno.core.documents.failures import FailureDocument
from modeldyno.core.documents.figures import Figure, LatencyDocument, LevelDocument
from modeldyno.core.documents.runnables import SummaryDocument
from modeldyno.core.figures import counted
from modeldyno.core.ids import RunId
from modeldyno.core.redaction import without_folders_in
from modeldyno.core.requests.axes import values_of
from modeldyno.core.results import FEWEST_SESSIONS, Noise
from modeldyno.core.specs import CellSpec
from modeldyno.store.tables import CELLS

REVISION = 2


# ---------------------------------------------------------------- write


def summary_to_columns(summary: SummaryDocument) -> dict[str, Any]:
    """The columns of a run or runnable that follow from its summary."""
    latency, throughput = summary.latency_ms, summary.throughput_per_s
    return {
        "engine": summary.engine,
        "typical_s": _divide_if_finite(latency.typical.value, 1e3) if latency else None,
        "throughput_per_s": _divide_if_finite(throughput.value, 1.0) if throughput else None,
        "document": json_text(summary, indent=None),
        "revision": REVISION,
    }


def cell_to_columns(cell: CellDocument, names: Mapping[str, str]) -> dict[str, Any]:
    """``names`` are those of models, by their paths on this machine."""
    latency, throughput = cell.latency_ms, cell.throughput_per_s
    document = without_folders_in(json_value(cell), names)
    return {
        "number": cell.number,
        "status": cell.status,
        **{name: getattr(cell, name) for name in NAMES},
        "shape": _shape_text(cell.input_shapes),
        **_figure_to_columns(
            "typical_s", latency.typical if latency else None, 1e3, has_ends=False
        ),
        **_figure_to_columns("floor_s", latency.floor if latency else None, 1e3),
        **_figure_to_columns("throughput_per_s", throughput, 1.0),
        "interval_level": latency.typical.level if latency and not cell.interval_note else None,
        "sessions": cell.sessions or None,
        "peak_memory_bytes": cell.peak_memory_bytes,
        "noise": cell.noise,
        "document": json.dumps(document, separators=(",", ":")),
        "revision": REVISION,
    }


def planned_cells_json(cells: Sequence[CellSpec]) -> tuple[str, ...]:
    """A document of each cell that was not measured yet."""
    documents = (CellDocument.planned(number, cell) for number, cell in enumerate(cells))
    return tuple(json_text(document, indent=None) for document in documents)


def _shape_text(shapes: Mapping[str, Sequence[int]]) -> str | None:
    """``image[1,3,224,224] mask[1,10]``; None without inputs, or with the user's own data."""
    return (
        " ".join(f"{name}{[*shape]}".replace(", ", ",") for name, shape in shapes.items()) or None
    )


def _figure_to_columns(
    column: str, figure: Figure | None, divisor: float, *, has_ends: bool = True
) -> dict[str, float | None]:
    """``floor_s``, ``floor_low_s``, ``floor_high_s``; the last two only if the interval is over
    sessions."""
    name, _, unit = column.partition("_")
    columns = {column: _divide_if_finite(figure.value if figure else None, divisor)}
    if not has_ends:
        return columns
    is_over_sessions = figure is not None and figure.of != "samples"
    for word in ("low", "high"):
        end = getattr(figure, word) if is_over_sessions else None
        columns[f"{name}_{word}_{unit}"] = _divide_if_finite(end, divisor)
    return columns


def _divide_if_finite(value: float | None, divisor: float) -> float | None:
    """None unless it is finite, as in JSON. Multiplied by ``divisor``, it is exact again."""
    return value / divisor if value is not None and math.isfinite(value) else None


# ---------------------------------------------------------------- what lists show of all cells


def summarise_axes_and_noise(cells: Sequence[Any]) -> dict[str, Any]:
    """The values of each axis, and the worst noise. ``cells`` are rows or specs."""
    axes = {axis.field: values_of(axis, cells) for axis in AXES}
    return {"axes": axes, "worst_noise": _worst_noise(cells)}


def _worst_noise(cells: Sequence[Any]) -> dict[str, Any] | None:
    noises = [cell.noise for cell in cells if not isinstance(cell, CellSpec) and cell.noise]
    if not noises:
        return None
    worst = max(noises, key=get_args(Noise).index)
    return {"noise": worst, "cells": noises.count(worst), "of": len(noises)}


# ---------------------------------------------------------------- read

FIGURE_COLUMNS = (
    *(CELLS.c[name] for name in NAMES),
    *(CELLS.c[field.name] for field in fields(CellFigures) if field.name != "axes"),
)


def cell_figures_from_row(row: Any) -> CellFigures:
    """Of a row that begins with the ``FIGURE_COLUMNS``."""
    count = len(NAMES)
    axes = dict(zip(NAMES, row[:count], strict=True))
    return CellFigures(RunId(row[count]), row[count + 1], axes, *row[count + 2 : _COUNT])


_COUNT = len(FIGURE_COLUMNS)


def read_summary_json(row: Any) -> str:
    """The summary of a run or runnable, as JSON."""
    if row.revision >= REVISION:
        return str(row.document)
    return json_text(_summary_from_version_1(json.loads(row.document)), indent=None)


def read_cell_json(row: Any) -> str:
    if row.revision >= REVISION:
        return str(row.document)
    return json_text(_cell_from_version_1(row), indent=None)


# ---------------------------------------------------------------- from revision 1
# Figures were in seconds, each end of an interval by itself, in columns and a JSON object.


def _summary_from_version_1(values: dict[str, Any]) -> SummaryDocument:
    streams = values.get("streams") or (values.get("batch_size") and 1)
    return SummaryDocument(
        **{name: values.get(name) for name in NAMES if name in _OLD_AXES} | {"streams": streams},
        items=(values.get("batch_size") or 1) * (streams or 1),
        latency_ms=_levels_from_version_1(values),
        accuracy=values.get("accuracy"),
        verdict=values.get("verdict"),
        ratio=None
        if values.get("ratio") is None
        else Figure(
            value=values["ratio"], low=values.get("ratio_low"), high=values.get("ratio_high")
        ),
        sessions=values.get("sessions"),
        samples=values.get("samples"),
        **_figures_from_version_1(values),
    )


def _cell_from_version_1(row: Any) -> dict[str, Any]:
    """A CellDocument with null for what was not stored."""
    values = row._asdict() | json.loads(row.document)
    axes = {name: values.get(name) for name in NAMES if name in _OLD_AXES}
    effective = dict(values.get("effective") or {})
    surprises = effective.pop("surprises", [])
    error = values.get("error")
    planned = CellDocument.planned(row.number, CellSpec(**axes))
    return json_value(planned) | json_value(  # type: ignore[no-any-return]
        {
            "status": row.status,
            "error": error and FailureDocument.of_record(error),
            "effective": effective
            and {field.name: effective.get(field.name) for field in fields(EffectiveDocument)},
            "surprises": surprises,
            "latency_ms": _latency_from_version_1(values),
            "samples": values.get("samples") or 0,
            "sessions": values.get("sessions") or 0,
            **_figures_from_version_1(values),
        }
    )


_OLD_AXES = ("engine", "device", "precision", "batch_size", "cores", "instances", "streams")


def _figures_from_version_1(values: dict[str, Any]) -> dict[str, Any]:
    reasons = values.get("noise_reasons")
    return {
        "throughput_per_s": _figure_from_version_1(values, "throughput", "per_s", 1.0),
        "interval_note": _interval_note_from_version_1(values),
        "noise": values.get("noise"),
        "noise_reasons": tuple(reasons.split("\n")) if reasons else (),
        "peak_memory_bytes": values.get("peak_memory_bytes"),
    }


def _levels_from_version_1(values: dict[str, Any]) -> LevelDocument | None:
    typical = _figure_from_version_1(values, "typical", "s", 1e3)
    if typical is None:
        return None
    return LevelDocument(typical=typical, floor=_figure_from_version_1(values, "floor", "s", 1e3))


def _latency_from_version_1(values: dict[str, Any]) -> LatencyDocument | None:
    levels, unknown = _levels_from_version_1(values), Figure(value=None)
    if levels is None:
        return None
    missing: dict[str, Any] = dict.fromkeys(("mean", "stdev", "min", "max", "outlier_share"))
    missing |= dict.fromkeys(("p90", "p95", "p99"), unknown)
    return LatencyDocument(typical=levels.typical, floor=levels.floor or unknown, **missing)


def _figure_from_version_1(
    values: dict[str, Any], name: str, unit: str, scale: float
) -> Figure | None:
    value = values.get(f"{name}_{unit}")
    if value is None:
        return None
    low, high = (values.get(f"{name}_{end}_{unit}") for end in ("low", "high"))
    if low is None or high is None:
        return Figure(value=value * scale)
    return Figure(
        value=value * scale,
        low=low * scale,
        high=high * scale,
        level=values.get("interval_level"),
        of="sessions",
        n=values.get("sessions"),
    )


def _interval_note_from_version_1(values: dict[str, Any]) -> str | None:
    if values.get("typical_s") is None or values.get("typical_low_s") is not None:
        return None
    if values.get("sessions") is None:
        return "how many sessions it rests on was not kept"
    return f"{counted(values['sessions'], 'session')}; an interval needs {FEWEST_SESSIONS}"
