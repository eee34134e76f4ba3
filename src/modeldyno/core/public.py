"""The public form of results: one set of names for terminal, Python and, later, the network.

Seconds become milliseconds here and nowhere else; units stand in the names. The JSON Schemas in
``schemas/`` describe exactly this.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from modeldyno.core.codec import encode
from modeldyno.core.conversions import ConversionResult
from modeldyno.core.doctor import Checkup, Peaks
from modeldyno.core.documents.described import json_value
from modeldyno.core.documents.host import WeatherDocument
from modeldyno.core.documents.model import ModelDocument
from modeldyno.core.examples import ExampleShown
from modeldyno.core.history import KeptRun, quickest
from modeldyno.core.hosts import HostFacts, HostWeather
from modeldyno.core.models import ModelFacts
from modeldyno.core.rankings import Ranked, Ranking
from modeldyno.core.results import (
    BenchmarkResult,
    ComparisonResult,
    Estimate,
    ProfileResult,
)
from modeldyno.core.sandbox import SandboxReport
from modeldyno.core.surprises import Surprise

CONVERSION_SCHEMA = "modeldyno.conversion/1"
DOCTOR_SCHEMA = "modeldyno.doctor/1"
ENGINES_SCHEMA = "modeldyno.engines/1"
EXAMPLES_SCHEMA = "modeldyno.examples/1"
RANKING_SCHEMA = "modeldyno.ranking/1"
RUNS_SCHEMA = "modeldyno.runs/1"


def _ms(seconds: float | None) -> float | None:
    return None if seconds is None else seconds * 1e3


def _interval(estimate: Estimate, scale: float = 1.0) -> list[float]:
    return [estimate.low * scale, estimate.high * scale]


def model_json(facts: ModelFacts) -> dict[str, Any]:
    document: dict[str, Any] = json_value(ModelDocument.of(facts))
    return document


def conversion_json(result: ConversionResult) -> dict[str, Any]:
    return {
        "schema": CONVERSION_SCHEMA,
        "to": result.to,
        "source": model_json(result.source),
        "model": model_json(result.model),
        "source_engine": result.source_engine,
        "engine": result.engine,
        "checks": [asdict(check) for check in result.checks],
        "seconds": result.seconds,
        "notes": list(result.notes),
    }


def ranking_json(found: Ranking) -> dict[str, Any]:
    return {
        "schema": RANKING_SCHEMA,
        "reference": found.reference,
        "interrupted": found.interrupted,
        "sides": [_ranked_json(one, found.floor_s(one)) for one in found.sides],
    }


def _ranked_json(one: Ranked, floor_s: float | None) -> dict[str, Any]:
    side, ratio, parity = one.side, one.ratio, one.parity
    return {
        "label": one.label,
        "place": one.place,
        "unranked": one.unranked or None,
        "engine": side.facts.engine if side else None,
        "engine_version": side.facts.engine_version if side else None,
        "format": side.model.format if side else None,
        "precision": side.facts.precision if side else None,
        "cores": side.spec.cores if side else None,
        "batch_size": side.batch_size if side else None,
        "streams": side.facts.streams if side else None,
        "floor_ms": _ms(floor_s),
        "ratio": ratio.value if ratio else None,
        "ci95": _interval(ratio) if ratio else None,
        "max_rel_error": parity.max_rel_error if parity else None,
        "noise": one.noise,
        "run_id": one.run_id,
        "alone": one.alone,
        "error": encode(one.failure),
    }


def host_json(host: HostFacts, weather: HostWeather) -> dict[str, Any]:
    return {**encode(host), "weather": json_value(WeatherDocument.of(weather))}


def surprises_json(found: Sequence[Surprise]) -> list[dict[str, str]]:
    """Where it is not what was asked for."""
    return [{"about": one.about, "text": one.text} for one in found]


def sandbox_text(report: SandboxReport | None) -> str | None:
    """``full``, or ``partial (no landlock: …)``; null when no worker got so far."""
    return None if report is None else str(report)


# ---------------------------------------------------------------- what is kept


def runs_json(runs: Sequence[KeptRun], unreadable: Sequence[str] = ()) -> dict[str, Any]:
    return {
        "schema": RUNS_SCHEMA,
        "runs": [_run_json(run) for run in runs],
        "unreadable": list(unreadable),
    }


def _run_json(run: KeptRun) -> dict[str, Any]:
    result = run.result
    best = quickest(result) if isinstance(result, BenchmarkResult) else None
    typical = best.measurement.latency.typical if best and best.measurement else None
    latency = typical and {
        "median": _ms(typical.value),
        "ci95": _interval(typical, 1e3) if typical.is_over_units else None,
    }
    if isinstance(result, ProfileResult):
        latency = {"median": _ms(result.latency_s), "ci95": None}
    compared = result if isinstance(result, ComparisonResult) else None
    return {
        "run_id": run.run_id,
        "created_at": run.created_at,
        "kind": run.kind,
        "models": list(run.models),
        "state": run.state,
        "units": sum(run.sessions),
        "latency_ms": latency,
        "verdict": compared and compared.verdict,
        "ratio": compared and {"value": compared.ratio.value, "ci95": _interval(compared.ratio)},
        "headline": run.headline,
        "error": encode(run.failure),
    }


# ---------------------------------------------------------------- the machine


def checkup_json(checkup: Checkup) -> dict[str, Any]:
    clock, noise = checkup.clock, checkup.noise
    return {
        "schema": DOCTOR_SCHEMA,
        "created_at": checkup.created_at,
        "tool_version": checkup.tool_version,
        "verdict": checkup.fitness,
        "findings": encode(checkup.findings),
        "clock": {
            "resolution_ns": clock.resolution_s * 1e9,
            "cost_ns": clock.cost_s * 1e9,
            "went_back": clock.went_back,
            "oversleep_ms": _ms(clock.oversleep_s),
        },
        "noise": noise
        and {
            "floor_ms": _ms(noise.floor_s),
            "median_ms": _ms(noise.typical_s),
            "contention": noise.contention,
            "samples": noise.samples,
        },
        "peaks": _peaks_json(checkup.peaks) if checkup.peaks else None,
        "host": host_json(checkup.host, checkup.weather),
    }


def _peaks_json(peaks: Peaks) -> dict[str, Any]:
    return {
        "created_at": peaks.created_at,
        "engine": peaks.engine,
        "work": peaks.work,
        "traffic": peaks.traffic,
        "cores": [
            {
                "cores": peak.cores,
                "gflop_per_s": peak.flops_per_s / 1e9,
                "gb_per_s": peak.bytes_per_s / 1e9,
                "noise": peak.noise,
            }
            for peak in peaks.peaks
        ],
    }


def example_json(shown: ExampleShown) -> dict[str, Any]:
    example = shown.example
    return {
        "slug": example.slug,
        "name": example.name,
        "kind": example.kind,
        "domain": example.domain,
        "framework": example.framework,
        "format": example.format,
        "file": example.file_name,
        "available": shown.available,
        "why_not": shown.why_not,
        "fix": shown.fix,
        "can_run": shown.can_run,
        "url": example.url,
        "sha256": example.sha256,
        "size_bytes": shown.size_bytes,
        "inputs": list(example.inputs),
        "input_shapes": [list(shape) for shape in example.input_shapes],
        "outputs": list(example.outputs),
        "note": example.note,
    }
