"""The figures of a run that lists show, and those of its cells: milliseconds, null for unknown."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from modeldyno.api.v1.shape import Told
from modeldyno.core.redaction import without_folders
from modeldyno.core.results import Noise, Verdict
from modeldyno.core.runs import CellOutcome, RunSummary
from modeldyno.core.specs import CellSpec


class SummaryTold(Told):
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
    noise: Noise | None = Field(examples=["quiet"])
    accuracy: float | None
    verdict: Verdict | None = Field(description="Of a comparison.")
    ratio: float | None = Field(description="B's time by A's.")
    ratio_low: float | None
    ratio_high: float | None


class CellTold(Told):
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
    status: Literal["done", "partial", "failed"] | None = Field(examples=["done"])
    latency_ms: float | None = Field(examples=[4.1])
    floor_ms: float | None = Field(examples=[3.9])
    throughput_per_s: float | None = Field(examples=[243.9])
    noise: Noise | None = Field(examples=["quiet"])
    error_code: str | None


class FailureTold(Told):
    """Why a run failed; the words of a problem document."""

    code: str = Field(examples=["ENGINE_CRASHED"])
    title: str
    detail: str
    fix: str


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
        "noise": found.noise,
        "accuracy": found.accuracy,
        "verdict": found.verdict,
        "ratio": found.ratio,
        "ratio_low": found.ratio_low,
        "ratio_high": found.ratio_high,
    }


def outcome_of(cell: CellOutcome) -> dict[str, Any]:
    """As CellTold describes."""
    asked = CellSpec(
        engine=cell.engine,
        batch_size=cell.batch_size,
        cores=cell.cores,
        instances=cell.instances,
        device=cell.device,
        precision=cell.precision,
    )
    return cell_of(cell.number, asked) | {
        "status": cell.status,
        "latency_ms": ms(cell.typical_s),
        "floor_ms": ms(cell.floor_s),
        "throughput_per_s": cell.throughput_per_s,
        "noise": cell.noise,
        "error_code": cell.error_code,
    }


def cell_of(number: int, cell: CellSpec) -> dict[str, Any]:
    """One that was not measured yet."""
    return {
        "number": number,
        "name": cell.name,
        "engine": cell.engine,
        "device": cell.device,
        "precision": cell.precision,
        "batch_size": cell.batch_size,
        "cores": cell.cores,
        "instances": cell.instances,
        "status": None,
        "latency_ms": None,
        "floor_ms": None,
        "throughput_per_s": None,
        "noise": None,
        "error_code": None,
    }


def failure_of(found: dict[str, str] | None) -> dict[str, str] | None:
    """As FailureTold describes, from how it is kept."""
    if found is None:
        return None
    told = {"code": found["code"], "title": found["title"]}
    told |= {"detail": found.get("why", ""), "fix": found.get("fix", "")}
    return {name: without_folders(text) for name, text in told.items()}


def ms(seconds: float | None) -> float | None:
    return None if seconds is None else seconds * 1e3
