"""An optimization, as ``/api`` writes it: in a list, in details, and when it has ended; and
``tuning_history``, its trials, in details and as an event."""

from __future__ import annotations

from collections.abc import Sequence

from modeldyno.api.inc.naming import TYPES
from modeldyno.api.inc.shapes import Json, Place, head_shape, moment, note_shape, state_shape
from modeldyno.core.dictionaries import PRECISIONS, Numbered, find_named
from modeldyno.core.optimizations import Optimization, OptimizationDetails, Trial
from modeldyno.core.tuning import minimal_accuracy

BASELINE = 0  # the number of the trial that is the model itself


def optimization_shape(
    details: OptimizationDetails, place: Place, trials: Sequence[Trial] | None = None
) -> Json:
    """``trials`` of its latest run, for details of one: in lists there are no tuning details."""
    optimization, latest = details.optimization, details.latest
    tuning = tuning_shape(optimization) if trials is not None else None
    if tuning is not None:
        tuning["tuning_history"] = history_shape(optimization, trials or ())
    precision = find_named(PRECISIONS, optimization.precision) or Numbered(
        0, optimization.precision
    )
    return {
        **head_shape(optimization),
        "precision": precision.told,
        "optimization_type": TYPES[optimization.type].told,
        "dataset": place.dataset,
        "config_path": place.config,
        "log_path": place.log,
        "execution_command": None,  # no command repeats it yet
        "batch_size": optimization.tuning.batch_size,
        "sampling_size": optimization.tuning.sampling_size,
        **state_shape(optimization, latest, whole=int),
        "optimized_model": place.model,
        "accuracy_benchmark_id": details.pins.get("accuracy"),
        "performance_benchmark_id": details.pins.get("performance"),
        "tuning_details": tuning,
        "diagnosis_config": {} if optimization.type == "quantization" else None,
        "note": note_shape(latest, place),
    }


def tuning_shape(optimization: Optimization) -> Json | None:
    """Only quantizations look for something."""
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
        "created_at": moment(optimization.created_at),
        "modified_at": moment(optimization.modified_at),
    }


def history_shape(optimization: Optimization, trials: Sequence[Trial]) -> Json | None:
    """In details; None before the first trial. Accuracies are fractions, times seconds."""
    if not trials:
        return None
    return {"id": optimization.id} | _figures(optimization, trials)


def history_event(optimization: Optimization, trials: Sequence[Trial], request_id: str) -> Json:
    tuning = optimization.tuning
    criterion = {
        "optimization_id": optimization.id,
        "accuracy_criterion_type": tuning.criterion,
        "accuracy_criterion_value": tuning.threshold,
    }
    return criterion | _figures(optimization, trials) | {"request_id": request_id}


def _figures(optimization: Optimization, trials: Sequence[Trial]) -> Json:
    before = next((trial for trial in trials if trial.number == BASELINE), None)
    tuned = [trial for trial in trials if trial.number != BASELINE]
    last = tuned[-1] if tuned else None
    best = next((trial for trial in tuned if trial.is_best), None)
    known = before.accuracy if before else None
    return {
        "minimal_accuracy": None if known is None else minimal_accuracy(optimization.tuning, known),
        "baseline_accuracy": _accuracy(before),
        "baseline_performance": _performance(before),
        "last_tune_accuracy": _accuracy(last),
        "last_tune_performance": _performance(last),
        "best_tune_accuracy": _accuracy(best),
        "best_tune_performance": _performance(best),
        "history": [
            {"accuracy": _accuracy(trial), "performance": _performance(trial)} for trial in tuned
        ],
    }


def _accuracy(trial: Trial | None) -> list[float] | None:
    return None if trial is None else [] if trial.accuracy is None else [trial.accuracy]


def _performance(trial: Trial | None) -> list[float] | None:
    return None if trial is None else [] if trial.typical_s is None else [trial.typical_s]
