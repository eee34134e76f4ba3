"""``tuning_history``: the trials of an optimization, in details and as an event."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from modeldyno.core.optimizations import Optimization, Trial
from modeldyno.core.tuning import minimal_accuracy

BASELINE = 0  # the number of the trial that is the model itself


def history_shape(optimization: Optimization, trials: Sequence[Trial]) -> dict[str, Any] | None:
    """In details; None before the first trial. Accuracies are fractions, times seconds."""
    if not trials:
        return None
    return {"id": optimization.id} | _figures(optimization, trials)


def history_event(
    optimization: Optimization, trials: Sequence[Trial], request_id: str
) -> dict[str, Any]:
    tuning = optimization.tuning
    said = {
        "optimization_id": optimization.id,
        "accuracy_criterion_type": tuning.criterion,
        "accuracy_criterion_value": tuning.threshold,
    }
    return said | _figures(optimization, trials) | {"request_id": request_id}


def _figures(optimization: Optimization, trials: Sequence[Trial]) -> dict[str, Any]:
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
