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
    CellResult,
    ComparisonResult,
    Estimate,
    Failure,
    Latency,
    Measurement,
    Objective,
    ProfileResult,
    SideBySide,
    SideResult,
    Standing,
    Tail,
)
from modeldyno.core.sandbox import SandboxReport
from modeldyno.core.sessions import Memory
from modeldyno.core.surprises import Surprise, fallback_share

OBJECTIVES: tuple[Objective, ...] = ("latency", "throughput")

BENCHMARK_SCHEMA = "modeldyno.benchmark/1"
COMPARISON_SCHEMA = "modeldyno.comparison/1"
CONVERSION_SCHEMA = "modeldyno.conversion/1"
DOCTOR_SCHEMA = "modeldyno.doctor/1"
ENGINES_SCHEMA = "modeldyno.engines/1"
EXAMPLES_SCHEMA = "modeldyno.examples/1"
RANKING_SCHEMA = "modeldyno.ranking/1"
RUNS_SCHEMA = "modeldyno.runs/1"

CSV_COLUMNS = (
    "model", "engine", "engine_version", "device", "precision", "batch_size", "cores",
    "instances", "streams", "status", "latency_ms_median", "latency_ms_low", "latency_ms_high",
    "latency_ms_floor", "latency_ms_p90", "latency_ms_p95", "latency_ms_p99",
    "throughput_per_s", "cpu_ms", "load_ms", "first_inference_ms", "peak_memory_bytes",
    "samples", "sessions", "contention", "noise", "error",
)  # fmt: skip


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


# ---------------------------------------------------------------- benchmarks


def benchmark_json(result: BenchmarkResult) -> dict[str, Any]:
    return {
        "schema": BENCHMARK_SCHEMA,
        "run_id": result.run_id,
        "created_at": result.created_at,
        "tool_version": result.tool_version,
        "interrupted": result.interrupted,
        "seed": result.spec.seed,
        "budget": encode(result.spec.budget),
        "model": model_json(result.model),
        "host": host_json(result.host, result.weather),
        "cells": [cell_json(cell) for cell in result.cells],
        "best": {name: _standing_json(result.standings.get(name)) for name in OBJECTIVES},
    }


def _standing_json(standing: Standing | None) -> dict[str, Any] | None:
    """Numbers of cells; more than one in ``tied`` means that nobody won."""
    if standing is None:
        return None
    return {
        "leader": standing.leader,
        "tied": list(standing.tied),
        "has_winner": standing.has_winner,
    }


def benchmarks_json(
    results: Sequence[BenchmarkResult], errors: Sequence[tuple[str, Failure]] = ()
) -> dict[str, Any]:
    """Several models in one document: ``model`` is the first, ``models`` are all.

    ``errors`` are of models that could not be measured at all, with their paths.
    """
    document = benchmark_json(results[0])
    document["interrupted"] = any(result.interrupted for result in results)
    document["models"] = [model_json(result.model) for result in results]
    document["runs"] = [result.run_id for result in results]
    document["cells"] = [cell_json(cell) for result in results for cell in result.cells]
    document["errors"] = [{"model": path, "error": encode(failure)} for path, failure in errors]
    return document


def cell_json(cell: CellResult) -> dict[str, Any]:
    facts = cell.facts
    return {
        "model": cell.model,
        "engine": facts.engine if facts else cell.spec.engine,
        "engine_version": facts.engine_version if facts else None,
        "other_python": encode(facts.other_python) if facts else None,
        "device": facts.device if facts else cell.spec.device,
        "providers": list(facts.providers) if facts else [],
        "precision": facts.precision if facts else None,
        "batch_size": cell.batch_size,
        "cores": cell.spec.cores,
        "instances": cell.spec.instances,
        "streams": facts.streams if facts else cell.spec.streams,
        "threads": facts.threads if facts else None,
        "spinning": facts.spinning if facts else None,
        "nodes_by_provider": facts.nodes_by_provider if facts else {},
        "fallback_share": fallback_share(facts) if facts else None,
        "layout": facts.layout if facts else None,
        "input_dtypes": facts.input_dtypes if facts else {},
        "input_shapes": {name: list(shape) for name, shape in cell.input_shapes.items()},
        "status": cell.status,
        "error": encode(cell.error),
        "note": "; ".join(cell.notes) or None,
        "call_contract": (facts.contract if facts else None) or cell.spec.contract,
        "sandbox": sandbox_text(cell.sandbox),
        "mismatches": list(cell.mismatches),
        "surprises": surprises_json(cell.surprises),
        **measurement_json(cell.measurement),
        **_parity_json(cell),
    }


def surprises_json(found: Sequence[Surprise]) -> list[dict[str, str]]:
    """Where it is not what was asked for."""
    return [{"about": one.about, "text": one.text} for one in found]


def _parity_json(cell: CellResult) -> dict[str, Any]:
    """To the first cell with that batch; of that one, how far its sessions agree."""
    if cell.parity is not None:
        return {"parity": encode(cell.parity), "parity_to": "first cell"}
    own = cell.measurement.parity if cell.measurement else None
    return {"parity": encode(own), "parity_to": "its own sessions" if own else None}


def sandbox_text(report: SandboxReport | None) -> str | None:
    """``full``, or ``partial (no landlock: …)``; null when no worker got so far."""
    return None if report is None else str(report)


def measurement_json(found: Measurement | None) -> dict[str, Any]:
    """Every key is always there; what was not measured is null."""
    memory = found.memory if found else None
    return {
        "latency_ms": _latency_json(found.latency) if found else None,
        "throughput_per_s": found.throughput_per_s if found else None,
        "cpu_ms": _ms(found.cpu_s) if found else None,
        "device_ms": _ms(found.device_s) if found else None,
        "load_ms": _ms(found.load_s) if found else None,
        "first_inference_ms": _ms(found.first_inference_s) if found else None,
        "peak_memory_bytes": memory.peak_bytes - memory.engine_bytes if memory else None,
        "peak_device_memory_bytes": memory.device_peak_bytes if memory else None,
        "memory_bytes": _memory_json(memory),
        "energy_j_per_item": found.energy_j_per_item if found else None,
        "energy_note": found.energy_note if found else "nothing was measured",
        "samples": found.samples if found else 0,
        "sessions": found.sessions if found else 0,
        "processes": found.processes if found else 0,
        "warmup_calls": found.warmup_calls if found else None,
        "calls_per_sample": found.calls_per_sample if found else None,
        "overhead_share": found.overhead_share if found else None,
        "overhead_limited": found.overhead_share > 0.01 if found else None,
        "preempted_share": found.preempted_share if found else None,
        "stop_reason": found.stop_reason if found else None,
        "contention": found.contention if found else None,
        "contention_source": found.contention_source if found else None,
        "noise": found.noise if found else None,
        "noise_reasons": list(found.reasons) if found else [],
        "steady": found.steady if found else None,
        "trend": found.trend if found else None,
        "cores_used": found.cores_used if found else None,
        "side_by_side": _side_by_side_json(found.side_by_side) if found else None,
    }


def _side_by_side_json(found: SideBySide | None) -> dict[str, Any] | None:
    if found is None:
        return None
    total, scaling = found.total_per_s, found.scaling
    return {
        "total_per_s": total.value,
        "total_ci95": _interval(total) if total.n > 1 else None,
        "scaling": scaling.value if scaling else None,
        "scaling_ci95": _interval(scaling) if scaling and scaling.n > 1 else None,
        "fairness": found.fairness,
        "items_per_cpu_s": found.items_per_cpu_s,
        "expected_contention": found.expected_contention,
        "oversubscribed": found.oversubscribed,
        "repetitions": total.n,
    }


def _memory_json(memory: Memory | None) -> dict[str, Any] | None:
    if memory is None:
        return None
    return {
        "engine": memory.engine_bytes,
        "loaded": memory.loaded_bytes,
        "peak": memory.peak_bytes,
    }


def _latency_json(latency: Latency) -> dict[str, Any]:
    typical = latency.typical
    has_interval = typical.n > 1
    tails = (latency.p90, latency.p95, latency.p99)
    return {
        "floor": _ms(latency.floor.value),
        "median": _ms(typical.value),
        "mean": _ms(latency.mean_s),
        "stdev": _ms(latency.stdev_s),
        "min": _ms(latency.min_s),
        "max": _ms(latency.largest_s),
        "p90": _ms(latency.p90.value),
        "p95": _ms(latency.p95.value),
        "p99": _ms(latency.p99.value),
        "ci95": _interval(typical, 1e3) if has_interval else None,
        "floor_ci95": _interval(latency.floor, 1e3) if has_interval else None,
        "ci_level": typical.level if has_interval else None,
        "ci_units": typical.units,
        "ci_n": typical.n,
        "tails": {f"p{tail.quantile * 100:g}": _tail_json(tail) for tail in tails},
        "outlier_share": latency.outlier_share,
    }


def _tail_json(tail: Tail) -> dict[str, Any]:
    interval = None if tail.low is None or tail.high is None else [tail.low * 1e3, tail.high * 1e3]
    return {"value": _ms(tail.value), "ci95": interval, "samples_needed": tail.samples_needed}


def csv_row(cell: CellResult) -> dict[str, Any]:
    """One line of a table: the columns of CSV_COLUMNS."""
    flat = cell_json(cell)
    latency = flat["latency_ms"] or {}
    low, high = latency.get("ci95") or (None, None)
    flat |= {
        f"latency_ms_{name}": latency.get(name) for name in ("median", "floor", "p90", "p95", "p99")
    }
    flat |= {"latency_ms_low": low, "latency_ms_high": high}
    flat["error"] = cell.error.title if cell.error else None
    return {name: flat[name] for name in CSV_COLUMNS}


# ---------------------------------------------------------------- comparisons


def comparison_json(result: ComparisonResult) -> dict[str, Any]:
    return {
        "schema": COMPARISON_SCHEMA,
        "run_id": result.run_id,
        "created_at": result.created_at,
        "tool_version": result.tool_version,
        "interrupted": result.interrupted,
        "verdict": result.verdict,
        "ratio": result.ratio.value,
        "ci95": _interval(result.ratio),
        "ci_level": result.ratio.level,
        "ci_units": result.ratio.units,
        "margin": result.spec.margin,
        "gate": _gate_json(result),
        "statistic": result.statistic,
        "pairs": result.pairs,
        "pairs_needed": result.pairs_needed,
        "processes": result.processes,
        "process_share": result.process_share,
        "typical_ratio": {
            "value": result.typical_ratio.value,
            "ci95": _interval(result.typical_ratio),
        },
        "distribution_changed": result.distribution_changed,
        "contention": result.contention,
        "noise": result.noise,
        "parity": encode(result.parity),
        "a": _side_json(result.a),
        "b": _side_json(result.b),
        "notes": list(result.notes),
        "host": host_json(result.host, result.weather),
    }


def _gate_json(result: ComparisonResult) -> dict[str, Any] | None:
    if result.gate is None:
        return None
    return {"fail_if_slower": result.spec.fail_if_slower, "outcome": result.gate}


def _side_json(side: SideResult) -> dict[str, Any]:
    facts = side.facts
    return {
        "label": side.label,
        "model": model_json(side.model),
        "engine": facts.engine,
        "engine_version": facts.engine_version,
        "other_python": encode(facts.other_python),
        "device": facts.device,
        "providers": list(facts.providers),
        "precision": facts.precision,
        "batch_size": side.batch_size,
        "streams": facts.streams,
        "cores": side.spec.cores,
        "threads": facts.threads,
        "spinning": facts.spinning,
        "layout": facts.layout,
        "nodes_by_provider": facts.nodes_by_provider,
        "fallback_share": fallback_share(facts),
        "input_dtypes": facts.input_dtypes,
        "surprises": surprises_json(side.surprises),
        "call_contract": side.contract,
        "sandbox": sandbox_text(side.sandbox),
        "latency_ms": {"floor": _ms(side.floor_s), "median": _ms(side.typical_s)},
    }


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
