"""An optimization, as ``/api`` writes it: in a list, in details, and when it has ended."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from modeldyno.api.inc.model_shape import model_shape
from modeldyno.api.inc.naming import TYPES
from modeldyno.api.inc.shapes import moment, status, why_not_done
from modeldyno.api.inc.tuning_history import history_shape
from modeldyno.core.inc_ids import PRECISIONS, Numbered, find
from modeldyno.core.optimizations import Optimization, OptimizationDetails, Trial
from modeldyno.core.queue import Job
from modeldyno.core.runs import LatestRun
from modeldyno.store.configs import NAME as CONFIG

if TYPE_CHECKING:
    from modeldyno.store.history import History

Row = dict[str, Any]


def optimization_shape(history: History, shown: OptimizationDetails) -> Row:
    """Of a list: without tuning details, which are for who asks for one."""
    optimization, latest = shown.optimization, shown.latest
    tuning = optimization.tuning
    folder = history.folder(latest.id) if latest else None
    precision = find(PRECISIONS, optimization.precision) or Numbered(0, optimization.precision)
    return {
        "project_id": optimization.project_id,
        "id": optimization.id,
        "name": optimization.name,
        "precision": precision.told,
        "optimization_type": TYPES[optimization.type].told,
        "dataset": {"id": optimization.dataset_id or -1, "name": shown.dataset_name or ""},
        "config_path": _there(folder.path / CONFIG) if folder else None,
        "log_path": _there(folder.log) if folder else None,
        "execution_command": None,  # no command repeats it yet
        "batch_size": tuning.batch_size,
        "sampling_size": tuning.sampling_size,
        "status": status(optimization.state),
        "created_at": moment(optimization.created_at),
        "last_run_at": moment(optimization.last_run_at),
        "duration": _duration(latest),
        "optimized_model": model_shape(shown.made) if shown.made else None,
        "accuracy_benchmark_id": shown.pins.get("accuracy"),
        "performance_benchmark_id": shown.pins.get("performance"),
        "tuning_details": None,
        "diagnosis_config": {} if optimization.type == "quantization" else None,
        "note": why_not_done(latest),
    }


def details_shape(
    history: History, shown: OptimizationDetails, trials: Sequence[Trial], job: Job | None
) -> Row:
    """``job`` of its latest run."""
    row = optimization_shape(history, shown)
    row["note"] = why_not_done(shown.latest, job)
    told = tuning_shape(shown.optimization)
    if told is not None:
        row["tuning_details"] = told | {"tuning_history": history_shape(shown.optimization, trials)}
    return row


def tuning_shape(optimization: Optimization) -> Row | None:
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


def _there(file: Path) -> str | None:
    return str(file) if file.is_file() else None


def _duration(latest: LatestRun | None) -> int | None:
    if latest is None or latest.started_at is None or latest.finished_at is None:
        return None
    return int((latest.finished_at - latest.started_at).total_seconds())
