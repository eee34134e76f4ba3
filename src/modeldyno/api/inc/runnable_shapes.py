"""Benchmarks, profiles and optimizations, as ``/api`` writes them: in lists, details and events."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime

from modeldyno.api.inc.naming import TYPES
from modeldyno.api.inc.shapes import (
    Json,
    Surroundings,
    head_shape,
    note_shape,
    run_seconds,
    state_shape,
    utc_text,
)
from modeldyno.core.benchmarks import BenchmarkOutcome, best_cell
from modeldyno.core.cell_axes import SIZES
from modeldyno.core.dictionaries import PRECISIONS, Numbered, find_named
from modeldyno.core.documents.cells import FIGURES
from modeldyno.core.optimization_settings import minimal_accuracy
from modeldyno.core.optimizations import Optimization, OptimizationDetails, Trial
from modeldyno.core.profiles import OpMicroseconds, Profile
from modeldyno.core.requests.commands import config_command, profile_command
from modeldyno.core.runs import RunnableDetails
from modeldyno.core.specs import CellSpec

WARMUP, UNTIL_PRECISE = 10, -1


def benchmark_shape(
    outcome: BenchmarkOutcome, surroundings: Surroundings, cell: Json | None = None
) -> Json:
    """``cell`` is the document of the best cell, for the statistics of details."""
    benchmark = outcome.benchmark
    spec = benchmark.spec
    requested = spec.cells[0]
    return {
        **head_shape(benchmark),
        "model": surroundings.model,
        "dataset": surroundings.dataset,
        "mode": benchmark.mode,
        "result": _result_shape(outcome, cell),
        "batch_size": requested.batch_size,
        "warmup_iterations": spec.warmup_calls if spec.warmup_calls is not None else WARMUP,
        "iterations": spec.iterations or UNTIL_PRECISE,
        "number_of_instance": requested.instances,
        "cores_per_instance": requested.cores,
        "config_path": surroundings.config,
        "log_path": surroundings.log,
        "execution_command": config_command(surroundings.config) if surroundings.config else "None",
        **state_shape(benchmark, outcome.latest),
        "note": note_shape(outcome.latest, surroundings, _deviations_text(outcome, cell)),
    }


def _result_shape(outcome: BenchmarkOutcome, cell: Json | None) -> Json | None:
    measured, best = outcome.measured, best_cell(outcome.cells)
    if measured is None or best is None:
        return None
    throughput = best.throughput_per_s
    row: Json = {
        "benchmark_id": outcome.benchmark.id,
        "id": measured.job_id or outcome.benchmark.id,
        "accuracy": None,
        "performance": None if throughput is None else round(throughput, 3),
        "created_at": utc_text(measured.finished_at),
        "last_run_at": utc_text(measured.started_at),
        "duration": run_seconds(measured),
        "run_id": measured.id,
        "latency_ms": None if best.typical_s is None else best.typical_s * 1e3,
        "noise": best.noise,
    }
    if cell is not None:
        row["statistics"] = {name: cell[name] for name in FIGURES}
    return row


def _deviations_text(outcome: BenchmarkOutcome, cell: Json | None) -> str:
    """How the run differed from the request; empty if it did not."""
    best, requested = best_cell(outcome.cells), outcome.benchmark.spec.cells[0]
    if best is None or len(outcome.benchmark.spec.cells) > 1:
        return "; ".join(cell["notes"]) if cell else ""
    notes = [_fits_note(requested, best.axes["cores"], best.axes["instances"])]
    if len(outcome.cells) > 1:  # the phases of a decoder
        sizes = " · ".join(axis.words(best.axes[axis.name]) for axis in SIZES)
        notes.append(f"the result is that of {sizes}, the quickest of {len(outcome.cells)} cells")
    if cell is not None:
        notes += cell["notes"]
    elif best.axes["batch_size"] != requested.batch_size:
        notes.append(f"ran at batch {best.axes['batch_size']}; asked {requested.batch_size}")
    return "; ".join(note for note in notes if note)


def _fits_note(requested: CellSpec, cores: int, instances: int) -> str:
    """How the request was changed to fit this machine; empty if it fits."""
    if (requested.cores, requested.instances) == (cores, instances):
        return ""
    return f"ran as {cores} cores × {instances}, which this machine has; asked " + (
        f"{requested.cores} × {requested.instances}"
    )


def profile_shape(details: RunnableDetails[Profile], surroundings: Surroundings) -> Json:
    profile, latest = details.runnable, details.latest
    spec, is_run = profile.spec, surroundings.log is not None
    cores = min(spec.cell.cores, surroundings.cores)
    is_reduced = is_run and cores < spec.cell.cores
    reduced = replace(spec, cell=replace(spec.cell, cores=cores))
    return {
        **head_shape(profile),
        "model": surroundings.model,
        "dataset": surroundings.dataset,
        "num_threads": spec.cell.cores,
        # With the path of the model file, ready to paste.
        "execution_command": profile_command(reduced, spec.model.path) if is_run else None,
        "log_path": surroundings.log,
        **state_shape(profile, latest),
        "note": note_shape(
            latest,
            surroundings,
            f"ran with {cores} threads; asked {spec.cell.cores}" if is_reduced else "",
        ),
    }


def op_rows_shape(
    number: int, rows: Iterable[OpMicroseconds], measured_at: datetime | None
) -> list[Json]:
    return [
        {
            "profiling_id": number,
            "id": position,
            "node_name": row.op_type,
            "total_execution_time": row.total_us,
            "accelerator_execution_time": row.accelerator_us,
            "cpu_execution_time": row.cpu_us,
            "op_run": row.op_run,
            "op_defined": row.op_defined,
            "created_at": utc_text(measured_at),
        }
        for position, row in enumerate(rows, 1)
    ]


BASELINE = 0  # the number of the trial that is the model itself


def optimization_shape(
    details: OptimizationDetails, surroundings: Surroundings, trials: Sequence[Trial] | None = None
) -> Json:
    """``trials`` of its latest run, for details: lists have no tuning details."""
    optimization, latest = details.optimization, details.latest
    tuning = tuning_shape(optimization) if trials is not None else None
    if tuning is not None:
        tuning["tuning_history"] = history_shape(optimization, trials or ())
    precision = find_named(PRECISIONS, optimization.precision) or Numbered(
        0, optimization.precision
    )
    return {
        **head_shape(optimization),
        "precision": precision.as_json,
        "optimization_type": TYPES[optimization.type].as_json,
        "dataset": surroundings.dataset,
        "config_path": surroundings.config,
        "log_path": surroundings.log,
        "execution_command": None,  # no command repeats an optimization yet
        "batch_size": optimization.tuning.batch_size,
        "sampling_size": optimization.tuning.sampling_size,
        **state_shape(optimization, latest, round_s=int),
        "optimized_model": surroundings.model,
        "accuracy_benchmark_id": details.pins.get("accuracy"),
        "performance_benchmark_id": details.pins.get("performance"),
        "tuning_details": tuning,
        "diagnosis_config": {} if optimization.type == "quantization" else None,
        "note": note_shape(latest, surroundings),
    }


def tuning_shape(optimization: Optimization) -> Json | None:
    """None unless it is a quantization: only those are tuned."""
    if optimization.type != "quantization":
        return None
    tuning = optimization.tuning
    timeout = tuning.timeout_s
    return {
        "id": optimization.id,
        "strategy": tuning.strategy,
        "accuracy_criterion_type": tuning.criterion,
        "accuracy_criterion_threshold": tuning.threshold,
        "multi_objectives": tuning.objective,
        "exit_policy": {
            "timeout": int(timeout) if timeout == int(timeout) else timeout,
            "max_trials": tuning.max_trials,
        },
        "random_seed": tuning.seed,
        "created_at": utc_text(optimization.created_at),
        "modified_at": utc_text(optimization.modified_at),
    }


def history_shape(optimization: Optimization, trials: Sequence[Trial]) -> Json | None:
    """For details; None before the first trial. Accuracies are fractions, times seconds."""
    if not trials:
        return None
    return {"id": optimization.id} | _history_figures(optimization, trials)


def history_event(optimization: Optimization, trials: Sequence[Trial], request_id: str) -> Json:
    tuning = optimization.tuning
    criterion = {
        "optimization_id": optimization.id,
        "accuracy_criterion_type": tuning.criterion,
        "accuracy_criterion_value": tuning.threshold,
    }
    return criterion | _history_figures(optimization, trials) | {"request_id": request_id}


def _history_figures(optimization: Optimization, trials: Sequence[Trial]) -> Json:
    before = next((trial for trial in trials if trial.number == BASELINE), None)
    tuned = [trial for trial in trials if trial.number != BASELINE]
    last = tuned[-1] if tuned else None
    best = next((trial for trial in tuned if trial.is_best), None)
    accuracy = before.accuracy if before else None
    return {
        "minimal_accuracy": None
        if accuracy is None
        else minimal_accuracy(optimization.tuning, accuracy),
        "baseline_accuracy": _accuracy_drop(before),
        "baseline_performance": _performance_gain(before),
        "last_tune_accuracy": _accuracy_drop(last),
        "last_tune_performance": _performance_gain(last),
        "best_tune_accuracy": _accuracy_drop(best),
        "best_tune_performance": _performance_gain(best),
        "history": [
            {"accuracy": _accuracy_drop(trial), "performance": _performance_gain(trial)}
            for trial in tuned
        ],
    }


def _accuracy_drop(trial: Trial | None) -> list[float] | None:
    return None if trial is None else [] if trial.accuracy is None else [trial.accuracy]


def _performance_gain(trial: Trial | None) -> list[float] | None:
    return None if trial is None else [] if trial.typical_s is None else [trial.typical_s]
