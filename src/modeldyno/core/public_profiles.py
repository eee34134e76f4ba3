"""The public JSON of a profile: milliseconds."""

from __future__ import annotations

from typing import Any

from modeldyno.core.codec import encode
from modeldyno.core.profile_tables import Slice, slices
from modeldyno.core.public import host_json, model_json, sandbox_text
from modeldyno.core.results import ProfileResult

PROFILE_SCHEMA = "modeldyno.profile/1"


def profile_json(result: ProfileResult) -> dict[str, Any]:
    facts, cell = result.facts, result.spec.cell
    return {
        "schema": PROFILE_SCHEMA,
        "run_id": result.run_id,
        "created_at": result.created_at,
        "tool_version": result.tool_version,
        "interrupted": result.interrupted,
        "model": model_json(result.model),
        "engine": facts.engine,
        "engine_version": facts.engine_version,
        "other_python": encode(facts.other_python),
        "device": facts.device,
        "providers": list(facts.providers),
        "precision": facts.precision,
        "batch_size": result.batch_size,
        "cores": cell.cores,
        "threads": facts.threads,
        "call_contract": result.contract,
        "sandbox": sandbox_text(result.sandbox),
        **figures_json(result),
        "operators": [operator_json(one) for one in slices(result, "op")],
        "nodes": [node_json(one) for one in slices(result, "node")],
        "notes": list(result.notes),
        "warnings": list(result.warnings),
        "host": host_json(result.host, result.weather),
    }


def figures_json(result: ProfileResult) -> dict[str, Any]:
    """How far the rows agree with the latency."""
    return {
        "latency_ms": result.latency_s * 1e3,
        "floor_ms": result.floor_s * 1e3,
        "profiled_latency_ms": result.profiled_s * 1e3,
        "sum_ms": result.sum_s * 1e3,
        "outside_ms": result.outside_s * 1e3,
        "told_sum_ms": result.told_s * 1e3,
        "coverage": result.coverage,
        "profiler_overhead": result.profiled_s / result.latency_s - 1,
        "event_cost_us": result.event_cost_s * 1e6,
        "scale": result.scale,
        "repeats": result.repeats,
        "calls": result.calls,
    }


def operator_json(one: Slice) -> dict[str, Any]:
    return {"op_type": one.op_type, "nodes": one.nodes, **_times(one)}


def node_json(one: Slice) -> dict[str, Any]:
    return {"node": one.node, "op_type": one.op_type, **_times(one)}


def _times(one: Slice) -> dict[str, Any]:
    return {
        "provider": one.provider,
        "calls": one.calls,
        "total_ms": one.total_s * 1e3,
        "total_ci95_ms": None if one.ci95_s is None else [s * 1e3 for s in one.ci95_s],
        "share": one.share,
        "cumulative_share": one.cumulative,
        "cpu_ms": one.cpu_s * 1e3,
        "accelerator_ms": None if one.accelerator_s is None else one.accelerator_s * 1e3,
        "told_ms": one.told_s * 1e3,
    }
