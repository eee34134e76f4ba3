"""The public JSON of a profile: milliseconds."""

from __future__ import annotations

from typing import Any

from modeldyno.core.codec import encode
from modeldyno.core.doctor import Peaks
from modeldyno.core.names import shown_name
from modeldyno.core.profile_diffs import Change, Part, ProfileDiff, diff_sentence
from modeldyno.core.profile_tables import Slice, slices
from modeldyno.core.public import host_json, model_json, sandbox_text, surprises_json
from modeldyno.core.results import ProfileResult
from modeldyno.core.roofline import Roof, held, roof_of
from modeldyno.core.surprises import fallback_share

PROFILE_SCHEMA = "modeldyno.profile/1"
DIFF_SCHEMA = "modeldyno.profile-diff/1"


def profile_json(result: ProfileResult, peaks: Peaks | None = None) -> dict[str, Any]:
    """With the ``peaks`` of the machine it was measured on, where they are known."""
    facts, cell = result.facts, result.spec.cell
    roof = roof_of(peaks, cell.cores, facts.device)
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
        "layout": facts.layout,
        "nodes_by_provider": facts.nodes_by_provider,
        "fallback_share": fallback_share(facts),
        "input_dtypes": facts.input_dtypes,
        "surprises": surprises_json(result.surprises),
        "call_contract": result.contract,
        "sandbox": sandbox_text(result.sandbox),
        **figures_json(result),
        "operators": [operator_json(one, roof) for one in slices(result, "op")],
        "nodes": [node_json(one, roof) for one in slices(result, "node")],
        "roof": roof_json(roof),
        "notes": list(result.notes),
        "warnings": list(result.warnings),
        "host": host_json(result.host, result.weather),
    }


def figures_json(result: ProfileResult) -> dict[str, Any]:
    """How far the rows agree with the latency."""
    return {
        "latency_ms": result.latency_s * 1e3,
        "latency_ci95_ms": _interval(result.ci95_s_by_figure.get("latency")),
        "floor_ms": result.floor_s * 1e3,
        "profiled_latency_ms": result.profiled_s * 1e3,
        "sum_ms": result.sum_s * 1e3,
        "sum_ci95_ms": _interval(result.ci95_s_by_figure.get("sum")),
        "outside_ms": result.outside_s * 1e3,
        "outside_ci95_ms": _interval(result.ci95_s_by_figure.get("outside")),
        "told_sum_ms": result.told_s * 1e3,
        "coverage": result.coverage,
        "profiler_overhead": result.profiled_s / result.latency_s - 1,
        "event_cost_us": result.event_cost_s * 1e6,
        "scale": result.scale,
        "repeats": result.repeats,
        "calls": result.calls,
    }


def operator_json(one: Slice, roof: Roof) -> dict[str, Any]:
    return {"op_type": one.op_type, "nodes": one.nodes, **_times(one), **_work(one, roof)}


def node_json(one: Slice, roof: Roof) -> dict[str, Any]:
    named = {"node": one.node, "op_type": one.op_type, "parts": list(one.parts)}
    return {**named, **_times(one), **_work(one, roof)}


def _work(one: Slice, roof: Roof) -> dict[str, Any]:
    return work_json(one.flop, one.moved_bytes, one.total_s, roof)


def roof_json(roof: Roof) -> dict[str, Any]:
    return {
        "gflop_per_s": _giga(roof.flops_per_s),
        "gbyte_per_s": _giga(roof.bytes_per_s),
        "ridge_flop_per_byte": roof.ridge,
        "text": roof.text,
    }


def work_json(
    flop: float | None, moved: float | None, seconds: float, roof: Roof
) -> dict[str, Any]:
    """What it has to do in that time, and what limits it."""
    found = held(flop, moved, seconds, roof)
    return {
        "flop": flop,
        "bytes": moved,
        "gflop_per_s": _giga(found.flops_per_s),
        "gbyte_per_s": _giga(found.bytes_per_s),
        "flop_per_byte": found.flop_per_byte,
        "bound": found.bound,
        "bound_reason": found.reason,
    }


def _times(one: Slice) -> dict[str, Any]:
    return {
        "provider": one.provider,
        "calls": one.calls,
        "total_ms": one.total_s * 1e3,
        "total_ci95_ms": _interval(one.ci95_s),
        "share": one.share,
        "cumulative_share": one.cumulative,
        "cpu_ms": one.cpu_s * 1e3,
        "accelerator_ms": None if one.accelerator_s is None else one.accelerator_s * 1e3,
        "told_ms": one.told_s * 1e3,
    }


def _interval(found: tuple[float, float] | None) -> list[float] | None:
    return None if found is None else [seconds * 1e3 for seconds in found]


def _giga(number: float | None) -> float | None:
    return None if number is None else number / 1e9


# ---------------------------------------------------------------- two side by side


def diff_json(found: ProfileDiff) -> dict[str, Any]:
    return {
        "schema": DIFF_SCHEMA,
        "by": found.by,
        "a": _diffed(found.a),
        "b": _diffed(found.b),
        "delta_ms": found.delta_s * 1e3,
        "verdict": found.verdict,
        "text": diff_sentence(found),
        "differences": list(found.differences),
        "changes": [_change_json(change) for change in found.changes],
    }


def _diffed(result: ProfileResult) -> dict[str, Any]:
    return {
        "run_id": result.run_id,
        "model": shown_name(result.model.path),
        "engine": result.facts.engine,
        "engine_version": result.facts.engine_version,
        "latency_ms": result.latency_s * 1e3,
        "latency_ci95_ms": _interval(result.ci95_s_by_figure.get("latency")),
        "repeats": result.repeats,
    }


def _change_json(change: Change) -> dict[str, Any]:
    return {
        "name": change.name,
        "standing": change.standing,
        "matched_by": change.matched_by,
        "verdict": change.verdict,
        "delta_ms": change.delta_s * 1e3,
        "a": _part_json(change.a),
        "b": _part_json(change.b),
    }


def _part_json(part: Part | None) -> dict[str, Any] | None:
    if part is None:
        return None
    return {
        "names": list(part.names),
        "op_types": list(part.op_types),
        "providers": list(part.providers),
        "nodes": part.nodes,
        "total_ms": part.total_s * 1e3,
        "total_ci95_ms": _interval(part.ci95_s),
    }
