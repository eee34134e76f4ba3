"""The figures of a run that lists show, and those of its cells: milliseconds, null for unknown."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from modeldyno.api.v1.shape import Told
from modeldyno.core.figures import counted
from modeldyno.core.redaction import without_folders
from modeldyno.core.requests.axes import axis_fields
from modeldyno.core.results import FEWEST_SESSIONS, Noise, Verdict
from modeldyno.core.runs import CellOutcome, RunSummary
from modeldyno.core.specs import CellSpec
from modeldyno.core.surprises import About


class FigureTold(Told):
    """A number with its 95 % interval over sessions; `interval_note` says why there is none."""

    value: float = Field(examples=[4.1])
    low: float | None = Field(examples=[4.05])
    high: float | None = Field(examples=[4.16])


class SurenessTold(Told):
    """The numbers that people read, and how far to trust them; null before they are measured."""

    ms_per_item: FigureTold | None = Field(description="Typical latency over the batch size.")
    ms_per_batch: FigureTold | None = Field(description="Typical latency.")
    floor_ms_per_item: FigureTold | None = Field(description="What the work costs.")
    items_per_s: FigureTold | None = Field(description="Everything done over all the time.")
    interval_note: str | None = Field(description="Why there is no interval, where there is none.")
    sessions: int | None = Field(description="What an interval counts.", examples=[12])
    samples: int | None = Field(examples=[2212])
    noise: Noise | None = Field(examples=["quiet"])
    noise_reasons: list[str] = Field(
        description="Why it is called so, and what to do about it.",
        examples=[["Nothing disturbed it (contention 1.00, undisturbed is 1)."]],
    )
    peak_memory_bytes: int | None = Field(
        description="Of model and inferences, without the engine.", examples=[52_428_800]
    )


class SummaryTold(SurenessTold):
    """Of several cells, the one with the lowest typical latency."""

    engine: str | None = Field(examples=["onnxruntime"])
    device: str | None = Field(examples=["cpu"])
    precision: str | None = Field(examples=["fp32"])
    batch_size: int | None = Field(examples=[1])
    cores: int | None = Field(examples=[2])
    instances: int | None = Field(examples=[1])
    latency_ms: float | None = Field(description="Typical, of a whole batch.", examples=[4.1])
    floor_ms: float | None = Field(description="What the work costs.", examples=[3.9])
    throughput_per_s: float | None = Field(examples=[243.9])
    accuracy: float | None
    verdict: Verdict | None = Field(description="Of a comparison.")
    ratio: float | None = Field(description="B's time by A's.")
    ratio_low: float | None
    ratio_high: float | None


class FailureTold(Told):
    """Why a run failed; the words of a problem document."""

    code: str = Field(examples=["ENGINE_CRASHED"])
    title: str
    detail: str
    fix: str


class SurpriseTold(Told):
    """One thing that is not as it was asked for."""

    about: About = Field(examples=["precision"])
    text: str = Field(examples=["asked for fp32, computed in bf16"])
    fix: str = Field(examples=["compare it with care"])


class EffectiveTold(Told):
    """As what a cell really ran: read back from the engine, never echoed."""

    precision: str | None = Field(
        description="Of the kernels that compute; null when the engine does not tell.",
        examples=["fp32"],
    )
    input_dtypes: dict[str, str] = Field(examples=[{"x": "float32"}])
    layout: str | None = Field(
        description="How pictures are arranged inside the engine: NCHW, NHWC, or NCHWc (channels "
        "in blocks); null where there are none, or when unknown.",
        examples=["NCHWc"],
    )
    threads: int | None = Field(examples=[2])
    fallback_share: float | None = Field(
        description="Share of the nodes that another provider or device ran than the one that was "
        "meant; null when the engine does not tell.",
        examples=[0.0],
    )
    text: str = Field(
        description="The same in words.",
        examples=["fp32 · float32 in · 2 threads · all 85 nodes on CPUExecutionProvider"],
    )


class CellTold(SurenessTold):
    """A cell, and how it came out the last time; `status` is null when it was not measured yet."""

    number: int = Field(examples=[0])
    name: str = Field(examples=["onnxruntime · 2 cores · batch 8"])
    engine: str = Field(
        description="Empty before the first run: the first that reads the model.",
        examples=["onnxruntime"],
    )
    device: str = Field(examples=["cpu"])
    precision: str | None = Field(examples=["fp32"])
    batch_size: int = Field(examples=[8])
    cores: int = Field(examples=[2])
    instances: int = Field(examples=[1])
    streams: int = Field(description="Requests that one call makes at a time.", examples=[1])
    status: Literal["done", "partial", "failed"] | None = Field(examples=["done"])
    latency_ms: float | None = Field(examples=[4.1])
    floor_ms: float | None = Field(examples=[3.9])
    throughput_per_s: float | None = Field(examples=[243.9])
    error_code: str | None
    error: FailureTold | None
    effective: EffectiveTold | None = Field(description="Null before it ran.")
    surprises: list[SurpriseTold] = Field(
        description="Where it is not what was asked for: silent defaults of the engine."
    )


def summary_of(found: RunSummary) -> dict[str, Any]:
    """As SummaryTold describes."""
    return {
        "engine": found.engine,
        "device": found.device,
        "precision": found.precision,
        "batch_size": found.batch_size,
        "cores": found.cores,
        "instances": found.instances,
        "latency_ms": ms(found.typical_s),
        "floor_ms": ms(found.floor_s),
        "throughput_per_s": found.throughput_per_s,
        "accuracy": found.accuracy,
        "verdict": found.verdict,
        "ratio": found.ratio,
        "ratio_low": found.ratio_low,
        "ratio_high": found.ratio_high,
        **_sureness(found),
    }


def outcome_of(cell: CellOutcome) -> dict[str, Any]:
    """As CellTold describes."""
    return cell_of(cell.number, CellSpec(**axis_fields(cell))) | {
        "status": cell.status,
        "latency_ms": ms(cell.typical_s),
        "floor_ms": ms(cell.floor_s),
        "throughput_per_s": cell.throughput_per_s,
        "error_code": cell.error_code,
        "error": failure_of(cell.error),
        **_effective(cell.effective),
        **_sureness(cell),
    }


def cell_of(number: int, cell: CellSpec) -> dict[str, Any]:
    """One that was not measured yet."""
    return {
        "number": number,
        "name": cell.name,
        **axis_fields(cell),
        "status": None,
        "latency_ms": None,
        "floor_ms": None,
        "throughput_per_s": None,
        "error_code": None,
        "error": None,
        **_effective(None),
        **_sureness(RunSummary()),
    }


def _effective(found: dict[str, Any] | None) -> dict[str, Any]:
    if found is None:
        return {"effective": None, "surprises": []}
    told = {name: value for name, value in found.items() if name != "surprises"}
    return {"effective": told, "surprises": found["surprises"]}


def _sureness(found: RunSummary | CellOutcome) -> dict[str, Any]:
    """As SurenessTold describes."""
    typical = found.typical_s, found.typical_low_s, found.typical_high_s
    floor = found.floor_s, found.floor_low_s, found.floor_high_s
    items = found.items
    return {
        "ms_per_item": _figure(1e3 / items, *typical),
        "ms_per_batch": _figure(1e3, *typical),
        "floor_ms_per_item": _figure(1e3 / items, *floor),
        "items_per_s": _figure(
            1.0, found.throughput_per_s, found.throughput_low_per_s, found.throughput_high_per_s
        ),
        "interval_note": _interval_note(found),
        "sessions": found.sessions,
        "samples": found.samples,
        "noise": found.noise,
        "noise_reasons": found.noise_reasons.split("\n") if found.noise_reasons else [],
        "peak_memory_bytes": found.peak_memory_bytes,
    }


def _figure(
    scale: float, value: float | None, low: float | None, high: float | None
) -> dict[str, float | None] | None:
    if value is None:
        return None
    told = {"value": value, "low": low, "high": high}
    return {name: None if number is None else number * scale for name, number in told.items()}


def _interval_note(found: RunSummary | CellOutcome) -> str | None:
    if found.typical_s is None or found.typical_low_s is not None:
        return None
    if found.sessions is None:
        return "how many sessions it rests on was not kept"
    return f"{counted(found.sessions, 'session')}; an interval needs {FEWEST_SESSIONS}"


def failure_of(found: dict[str, str] | None) -> dict[str, str] | None:
    """As FailureTold describes, from how it is kept."""
    if found is None:
        return None
    told = {"code": found["code"], "title": found["title"]}
    told |= {"detail": found.get("why", ""), "fix": found.get("fix", "")}
    return {name: without_folders(text) for name, text in told.items()}


def ms(seconds: float | None) -> float | None:
    return None if seconds is None else seconds * 1e3
