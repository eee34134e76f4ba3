"""Documents for tests, from as little as a test wants to say."""

from __future__ import annotations

from typing import Any

from modeldyno.core.documents.cells import CellDocument
from modeldyno.core.documents.figures import Figure, LatencyDocument, LevelDocument
from modeldyno.core.documents.runnables import SummaryDocument

UNKNOWN = Figure(value=None)


def figure(value: float, low: float | None = None, high: float | None = None) -> Figure:
    """With ends, an interval over 8 sessions."""
    if low is None:
        return Figure(value=value)
    return Figure(value=value, low=low, high=high, level=0.95, of="sessions", n=8)


def summary(typical_s: float | None = None, **more: Any) -> SummaryDocument:
    latency = (
        LevelDocument(typical=Figure(value=typical_s * 1e3), floor=None) if typical_s else None
    )
    return SummaryDocument(latency_ms=latency, **more)


def cell(
    number: int = 0,
    typical: Figure | None = None,
    floor: Figure | None = None,
    **more: Any,
) -> CellDocument:
    """Measured where ``typical`` is given, in milliseconds."""
    values: dict[str, Any] = {
        "name": "scripted · 1 core · batch 1",
        "model": "m.json",
        "engine": "scripted",
        "device": "cpu",
        "precision": None,
        "batch_size": 1,
        "cores": 1,
        "instances": 1,
        "streams": 1,
        "items": 1,
        "status": "done",
        "call_contract": "api",
        "input_shapes": {},
    }
    measured = latency(typical, floor) if typical else None
    return CellDocument(number=number, latency_ms=measured, **values | more)


def latency(typical: Figure, floor: Figure | None = None) -> LatencyDocument:
    missing: dict[str, Any] = dict.fromkeys(("mean", "stdev", "min", "max", "outlier_share"))
    missing |= dict.fromkeys(("p90", "p95", "p99"), UNKNOWN)
    return LatencyDocument(typical=typical, floor=floor or UNKNOWN, **missing)


def typical_ms(document: SummaryDocument) -> Any:
    return document.latency_ms.typical.value if document.latency_ms else None


def throughput(document: SummaryDocument) -> Any:
    return document.throughput_per_s.value if document.throughput_per_s else None
