"""``optimization/…``"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from modeldyno.api.inc.announcing import RunEvents
from modeldyno.api.inc.naming import TYPES
from modeldyno.api.inc.operations import Operation, Operations
from modeldyno.api.inc.parameters import MISSING, Parameters
from modeldyno.api.inc.runnable_shapes import optimization_shape, tuning_shape
from modeldyno.api.inc.runnables import translated_state_errors
from modeldyno.api.inc.shapes import Json, Surroundings, iterate_all_pages, model_shape
from modeldyno.core.dictionaries import OPTIMIZATION_TYPES, PRECISIONS, require_numbered
from modeldyno.core.ids import BenchmarkId, DatasetId, OptimizationId, ProjectId, RunId
from modeldyno.core.optimization_settings import OptimizationType
from modeldyno.core.optimizations import OptimizationDetails, PinKind
from modeldyno.datasets.typed_values import convert_value, is_blank
from modeldyno.store.configs import NAME as CONFIG

if TYPE_CHECKING:
    from modeldyno.api.inc.runnables import Runnables
    from modeldyno.services.optimizations import OptimizationService
    from modeldyno.store.history import History
    from modeldyno.store.records.all import Records

_OF_NUMBER: dict[int, OptimizationType] = {entry.id: type for type, entry in TYPES.items()}


def operations(
    records: Records, history: History, optimizations: OptimizationService, runnables: Runnables
) -> Operations:
    def add(parameters: Parameters) -> Json:
        project_id = ProjectId(parameters.id("project_id", MISSING))
        optimization = optimizations.create(
            project_id,
            parameters.text("name"),
            _find_type(parameters.id("optimization_type_id", MISSING)),
            _find_precision(parameters.id("precision_id", MISSING)),
            dataset_id=_requested_dataset(parameters),
            settings=_requested_tuning(parameters)
            | _requested_tuning(parameters.nested("tuning_details")),
        )
        return {"optimization_id": optimization.id}

    def edit(parameters: Parameters) -> Json:
        number = OptimizationId(parameters.id())
        names = ("precision_id", "optimization_type_id", "dataset_id")
        sent = {name: parameters.id(name) for name in names if name in parameters}
        settings = _requested_tuning(parameters.nested("tuning_details"))
        before = optimizations.get(number)
        precision, type, dataset = (sent.get(name) for name in names)
        with translated_state_errors("optimization", before.state):
            after = optimizations.edit(
                number,
                type=_find_type(type) if type else None,
                precision=_find_precision(precision) if precision else None,
                dataset_id=DatasetId(dataset) if dataset else None,
                settings=settings or None,
            )
        if after.type != before.type:
            sent["optimization_type_id"] = TYPES[after.type].id
        echo: Json = {"id": number, **sent}
        if "tuning_details" in parameters:
            echo["tuning_details"] = tuning_shape(after)
            echo["batch_size"] = after.tuning.batch_size
            echo["sampling_size"] = after.tuning.sampling_size
        return echo

    def details_of(number: int) -> Json:
        details = optimizations.details(OptimizationId(number))
        surroundings = surroundings_of(details, runnables.job_reason(details.latest))
        return optimization_shape(details, surroundings, optimizations.trials(details))

    def list_optimizations(parameters: Parameters) -> Json:
        page = iterate_all_pages(
            optimizations.page, ProjectId(parameters.id("project_id", MISSING))
        )
        return {
            "optimizations": [
                optimization_shape(details, surroundings_of(details)) for details in page
            ]
        }

    def surroundings_of(details: OptimizationDetails, reason: str = "") -> Surroundings:
        folder = history.folder(details.latest.id) if details.latest else None
        return Surroundings(
            model=model_shape(details.made) if details.made else None,
            dataset={
                "id": details.optimization.dataset_id or -1,
                "name": details.dataset_name or "",
            },
            config=_path_if_exists(folder.path / CONFIG) if folder else None,
            log=_path_if_exists(folder.log) if folder else None,
            reason=reason,
        )

    def pin(kind: PinKind) -> Operation:
        def pin_benchmark(parameters: Parameters) -> Json:
            number = OptimizationId(parameters.id("optimization_id", MISSING))
            benchmark_id = BenchmarkId(parameters.id("benchmark_id", MISSING))
            optimizations.pin(number, kind, benchmark_id)
            return {"id": number, f"{kind}_benchmark_id": benchmark_id}

        return pin_benchmark

    def started(number: int, run_id: RunId) -> Json:
        optimization = optimizations.get(OptimizationId(number))
        model = records.models.get(optimization.model_id)
        folder = history.folder(run_id)
        has_config = optimization.type == "quantization"
        return {
            "size_input_model": round((model.size_bytes or 0) / 1e6),
            "config_path": str(folder.path / CONFIG) if has_config else None,
            "output_path": str(folder.log),
        }

    events = RunEvents("optimization", details_of, started, failure_status="failure")
    return {
        **runnables.operations(optimizations, events, cascade=False),
        "optimization/list": list_optimizations,
        "optimization/add": add,
        "optimization/edit": edit,
        "optimization/pin_accuracy_benchmark": pin("accuracy"),
        "optimization/pin_performance_benchmark": pin("performance"),
    }


def _path_if_exists(file: Path) -> str | None:
    return str(file) if file.is_file() else None


def _find_type(number: int) -> OptimizationType:
    return _OF_NUMBER[require_numbered(OPTIMIZATION_TYPES, number, "optimization type").id]


def _find_precision(number: int) -> str:
    return require_numbered(PRECISIONS, number, "precision").name


def _requested_dataset(parameters: Parameters) -> DatasetId | None:
    """None for -1, which ``project/create`` answers when it made no dataset."""
    return (
        None
        if parameters.value("dataset_id") in (-1, "-1")
        else DatasetId(parameters.id("dataset_id", MISSING))
    )


def _requested_tuning(parameters: Parameters) -> dict[str, Any]:
    """The settings that were sent, by our names."""
    policy = parameters.nested("exit_policy")
    trials = "max_trials" if "max_trials" in policy else "max_trails"  # misspelt in the contract
    settings = {
        "batch_size": _requested_number(parameters, "batch_size", "whole"),
        "sampling_size": _requested_number(parameters, "sampling_size", "whole"),
        "strategy": _requested_word(parameters, "strategy")
        or _requested_word(parameters, "tuning_strategy"),
        "criterion": _requested_word(parameters, "accuracy_criterion_type"),
        "threshold": _requested_number(parameters, "accuracy_criterion_threshold", "number"),
        "objective": _requested_word(parameters, "multi_objectives")
        or _requested_word(parameters, "objective"),
        "timeout_s": _requested_number(policy, "timeout", "number"),
        "max_trials": _requested_number(policy, trials, "whole"),
        "seed": _requested_number(parameters, "random_seed", "whole"),
    }
    return {name: value for name, value in settings.items() if value is not None}


def _requested_number(parameters: Parameters, name: str, type: Any) -> Any:
    value = parameters.value(name)
    return None if is_blank(value) else convert_value(type, name, value)


def _requested_word(parameters: Parameters, name: str) -> str | None:
    return parameters.text(name, "").strip().lower() or None
