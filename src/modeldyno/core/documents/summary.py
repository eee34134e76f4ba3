"""The figures that lists show of a run and of its cells, with the names that documents have."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from modeldyno.core.documents.described import Count, Described, Size
from modeldyno.core.documents.effective import EffectiveDocument
from modeldyno.core.documents.failure import FailureDocument
from modeldyno.core.documents.figure import Figure
from modeldyno.core.documents.latency import LevelDocument
from modeldyno.core.figures import counted
from modeldyno.core.redaction import without_folders
from modeldyno.core.results import FEWEST_SESSIONS, CellStatus, Noise, Verdict
from modeldyno.core.runs import CellOutcome, RunSummary
from modeldyno.core.specs import CellSpec
from modeldyno.core.surprises import Surprise


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryDocument(Described):
    """What a list shows of a run; of several cells, that of the lowest typical latency."""

    engine: str | None
    """Null before one was chosen, and where cells differ."""
    device: str | None
    """Device it really used."""
    precision: str | None
    """Of its kernels, or else the one that was requested."""
    batch_size: Size | None
    """Items per call, as it really ran."""
    cores: Size | None
    """Cores requested."""
    instances: Size | None
    """Processes running side by side."""
    streams: Size | None
    """Requests that one call makes at the same time, inside the engine."""
    items: Size
    """Items per call in all its streams: what per-item figures are divided by."""
    latency_ms: LevelDocument | None
    """Of a whole batch; null before it is measured."""
    throughput_per_s: Figure | None
    """Items per second."""
    interval_note: str | None
    """Why there is no interval, where there is none."""
    sessions: Count | None
    """What an interval counts."""
    samples: Count | None
    """Timings taken."""
    noise: Noise | None
    """How far to trust it."""
    noise_reasons: tuple[str, ...]
    """Why it is called so, and what to do about it."""
    peak_memory_bytes: int | None
    """Of model and inferences, without the engine."""
    accuracy: float | None
    """Null: not measured."""
    verdict: Verdict | None
    """Of a comparison."""
    ratio: Figure | None
    """Of a comparison: B's time by A's."""

    @classmethod
    def of(cls, summary: RunSummary) -> SummaryDocument:
        ratio = summary.ratio
        return cls(
            engine=summary.engine,
            device=summary.device,
            precision=summary.precision,
            batch_size=summary.batch_size,
            cores=summary.cores,
            instances=summary.instances,
            streams=summary.streams or (summary.batch_size and 1),
            items=summary.items,
            accuracy=summary.accuracy,
            verdict=summary.verdict,  # type: ignore[arg-type]
            ratio=None
            if ratio is None
            else Figure(value=ratio, low=summary.ratio_low, high=summary.ratio_high),
            **_figures(summary),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class CellSummary(Described):
    """A cell, and how it came out the last time: what lists and cards show of a `CellDocument`."""

    number: Count
    """Its place among the cells of its benchmark, from 0."""
    name: str
    """What sets it apart, in words: `onnxruntime · 2 cores · batch 8`."""
    engine: str
    """Empty before the first run: the first that reads the model."""
    device: str
    """Device it really used."""
    precision: str | None
    """Of its kernels, or else the one that was requested; null: unknown, or the model's own."""
    batch_size: Size
    """Items per call, as it really ran."""
    cores: Size
    """Cores requested."""
    instances: Size
    """Processes running side by side."""
    streams: Size
    """Requests that one call makes at the same time, inside the engine."""
    items: Size
    """Items per call in all its streams: what per-item figures are divided by."""
    status: CellStatus | None
    """Null: not measured yet."""
    error: FailureDocument | None
    """Why it failed."""
    effective: EffectiveDocument | None
    """As what it really ran; null before that."""
    surprises: tuple[Surprise, ...]
    """Where it is not what was requested: silent defaults of the engine."""
    latency_ms: LevelDocument | None
    """Of a whole batch; null before it is measured."""
    throughput_per_s: Figure | None
    """Items per second."""
    interval_note: str | None
    """Why there is no interval, where there is none."""
    sessions: Count | None
    """What an interval counts."""
    samples: Count | None
    """Timings taken."""
    noise: Noise | None
    """How far to trust it."""
    noise_reasons: tuple[str, ...]
    """Why it is called so, and what to do about it."""
    peak_memory_bytes: int | None
    """Of model and inferences, without the engine."""

    @classmethod
    def of(cls, cell: CellOutcome) -> CellSummary:
        real = CellSpec(
            engine=cell.engine,
            batch_size=cell.batch_size,
            cores=cell.cores,
            instances=cell.instances,
            streams=cell.streams,
            device=cell.device,
            precision=cell.precision,
        )
        effective = dict(cell.effective or {})
        surprises = tuple(Surprise(**surprise) for surprise in effective.pop("surprises", ()))
        return cls(
            **_axes(cell.number, real),
            status=cell.status,
            error=failure_document(cell.error),
            effective=_effective(effective) if effective else None,
            surprises=surprises,
            **_figures(cell),
        )

    @classmethod
    def planned(cls, number: int, spec: CellSpec) -> CellSummary:
        """One that was not measured yet."""
        return cls(
            **_axes(number, spec),
            status=None,
            error=None,
            effective=None,
            surprises=(),
            **_figures(RunSummary()),
        )


def failure_document(kept: dict[str, str] | None) -> FailureDocument | None:
    """From how the database keeps it; without folders of this machine."""
    if kept is None:
        return None
    return FailureDocument(
        code=kept["code"],
        title=without_folders(kept["title"]),
        detail=without_folders(kept.get("why", "")),
        fix=without_folders(kept.get("fix", "")),
    )


def _axes(number: int, cell: CellSpec) -> dict[str, Any]:
    return {
        "number": number,
        "name": cell.name,
        "engine": cell.engine,
        "device": cell.device,
        "precision": cell.precision,
        "batch_size": cell.batch_size,
        "cores": cell.cores,
        "instances": cell.instances,
        "streams": cell.streams,
        "items": cell.batch_size * cell.streams,
    }


_EFFECTIVE = tuple(field.name for field in fields(EffectiveDocument))


def _effective(kept: dict[str, Any]) -> EffectiveDocument:
    """Rows of an earlier version have less of it."""
    return EffectiveDocument(**{name: kept.get(name) for name in _EFFECTIVE})  # type: ignore[arg-type]


def _figures(outcome: RunSummary | CellOutcome) -> dict[str, Any]:
    typical = _figure(outcome, "typical", 1e3)
    return {
        "latency_ms": typical
        and LevelDocument(typical=typical, floor=_figure(outcome, "floor", 1e3)),
        "throughput_per_s": _throughput(outcome),
        "interval_note": _interval_note(outcome),
        "sessions": outcome.sessions,
        "samples": outcome.samples,
        "noise": outcome.noise,
        "noise_reasons": tuple(outcome.noise_reasons.split("\n")) if outcome.noise_reasons else (),
        "peak_memory_bytes": outcome.peak_memory_bytes,
    }


def _figure(outcome: RunSummary | CellOutcome, name: str, scale: float) -> Figure | None:
    value = getattr(outcome, f"{name}_s")
    if value is None:
        return None
    ends = getattr(outcome, f"{name}_low_s"), getattr(outcome, f"{name}_high_s")
    return _over_sessions(outcome, value * scale, *(end and end * scale for end in ends))


def _throughput(outcome: RunSummary | CellOutcome) -> Figure | None:
    value = outcome.throughput_per_s
    if value is None:
        return None
    return _over_sessions(
        outcome, value, outcome.throughput_low_per_s, outcome.throughput_high_per_s
    )


def _over_sessions(
    outcome: RunSummary | CellOutcome, value: float, low: float | None, high: float | None
) -> Figure:
    if low is None or high is None:
        return Figure(value=value)
    return Figure(
        value=value,
        low=low,
        high=high,
        level=outcome.interval_level,
        of="sessions",
        n=outcome.sessions,
    )


def _interval_note(outcome: RunSummary | CellOutcome) -> str | None:
    if outcome.typical_s is None or outcome.typical_low_s is not None:
        return None
    if outcome.sessions is None:
        return "how many sessions it rests on was not kept"
    return f"{counted(outcome.sessions, 'session')}; an interval needs {FEWEST_SESSIONS}"
