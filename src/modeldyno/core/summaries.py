"""From a result to the few figures of it that lists show."""

from __future__ import annotations

import math
from dataclasses import fields
from typing import Any

from modeldyno.core.cell_axes import NAMES
from modeldyno.core.codec import encode
from modeldyno.core.documents.effective import EffectiveDocument
from modeldyno.core.history import quickest
from modeldyno.core.requests.axes import as_ran, axis_fields
from modeldyno.core.results import (
    BenchmarkResult,
    CellResult,
    ComparisonResult,
    Measurement,
    ProfileResult,
)
from modeldyno.core.runs import CellOutcome, RunSummary, Sureness
from modeldyno.core.specs import CellSpec, MeasuringSpec


def summarise_comparison(result: ComparisonResult) -> RunSummary:
    return RunSummary(
        engine=result.b.facts.engine,
        device=result.b.facts.device,
        noise=result.noise,
        verdict=result.verdict,
        ratio=_finite(result.ratio.value),
        ratio_low=_finite(result.ratio.low),
        ratio_high=_finite(result.ratio.high),
    )


def summarise_profile(result: ProfileResult) -> RunSummary:
    return RunSummary(
        engine=result.facts.engine,
        device=result.facts.device,
        precision=result.facts.precision or result.spec.cell.precision,
        batch_size=result.batch_size,
        cores=result.spec.cell.cores,
        instances=1,
        floor_s=_finite(result.floor_s),
        typical_s=_finite(result.latency_s),
        throughput_per_s=result.batch_size / result.latency_s if result.latency_s else None,
        sessions=result.repeats,
        samples=result.calls,
        **_profile_interval(result),
    )


def summarise_benchmark(result: BenchmarkResult) -> RunSummary:
    best = quickest(result)
    if best is None:
        return summarise_spec(result.spec)
    cell = outcome_of(0, best)
    return RunSummary(
        **_shown(axis_fields(cell)),
        floor_s=cell.floor_s,
        typical_s=cell.typical_s,
        throughput_per_s=cell.throughput_per_s,
        **{field.name: getattr(cell, field.name) for field in fields(Sureness)},
    )


def _profile_interval(result: ProfileResult) -> dict[str, Any]:
    """Repeats are fresh sessions."""
    found = result.ci95_s_by_figure.get("latency")
    if found is None:
        return {}
    low, high = found
    return {
        "typical_low_s": _finite(low),
        "typical_high_s": _finite(high),
        "interval_level": 0.95,
    }


def summarise_spec(spec: MeasuringSpec) -> RunSummary:
    """What is known before anything is measured: the settings that all cells share."""
    cells = spec.configurations()
    return RunSummary(**_shown({name: _shared(cells, name) for name in NAMES}))


def _shown(axes: dict[str, Any]) -> dict[str, Any]:
    """No stream stands for one, and no engine for the first that reads the model."""
    streams = axes["streams"] if axes["streams"] != 1 else None
    return axes | {"engine": axes["engine"] or None, "streams": streams}


def outcome_of(number: int, cell: CellResult) -> CellOutcome:
    """As it really ran, where that is known; as it was asked for otherwise."""
    measured = cell.measurement
    return CellOutcome(
        number=number,
        status=cell.status,
        **axis_fields(as_ran(cell.spec, cell.batch_size, cell.facts)),
        floor_s=_finite(measured.latency.floor.value) if measured else None,
        typical_s=_finite(measured.latency.typical.value) if measured else None,
        throughput_per_s=_finite(measured.throughput_per_s) if measured else None,
        error_code=cell.error.code if cell.error else None,
        error=encode(cell.error),
        effective=_effective(cell),
        **_sureness(measured),
    )


def _effective(cell: CellResult) -> dict[str, Any] | None:
    """As what it really ran, and where that is not what was asked for."""
    facts = cell.facts
    if facts is None:
        return None
    kept: dict[str, Any] = encode(EffectiveDocument.of(facts))
    return kept | {"surprises": encode(cell.surprises)}


def _sureness(measured: Measurement | None) -> dict[str, Any]:
    if measured is None:
        return {}
    memory = measured.memory
    return {
        "sessions": measured.sessions,
        "samples": measured.samples,
        "noise": measured.noise,
        "noise_reasons": "\n".join(measured.reasons),
        "peak_memory_bytes": memory.peak_bytes - memory.engine_bytes if memory else None,
        **_intervals(measured),
    }


def _intervals(measured: Measurement) -> dict[str, float | None]:
    """None where they would be within sessions: that leaves out what differs between them."""
    floor, typical = measured.latency.floor, measured.latency.typical
    if not typical.is_over_units:
        return {}
    found = {
        "floor_low_s": _finite(floor.low),
        "floor_high_s": _finite(floor.high),
        "typical_low_s": _finite(typical.low),
        "typical_high_s": _finite(typical.high),
        "interval_level": typical.level,
    }
    if measured.throughput is not None:
        # Everything done over all the time is no mean of sessions, and may lie beside theirs.
        total, over = measured.throughput_per_s, measured.throughput
        found["throughput_low_per_s"] = _finite(min(over.low, total))
        found["throughput_high_per_s"] = _finite(max(over.high, total))
    return found


def _shared(cells: tuple[CellSpec, ...], name: str) -> Any:
    """The value that all have, or None."""
    values = {getattr(cell, name) for cell in cells}
    return values.pop() if len(values) == 1 else None


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
