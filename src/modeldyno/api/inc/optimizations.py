"""``optimization/…``"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from modeldyno.api.inc.announcing import Speech
from modeldyno.api.inc.naming import TYPES
from modeldyno.api.inc.operations import Operation, Operations
from modeldyno.api.inc.optimization_shape import details_shape, optimization_shape, tuning_shape
from modeldyno.api.inc.parameters import Parameters
from modeldyno.api.inc.shapes import everything
from modeldyno.core.errors import WrongState
from modeldyno.core.ids import BenchmarkId, DatasetId, OptimizationId, ProjectId, RunId
from modeldyno.core.inc_ids import OPTIMIZATION_TYPES, PRECISIONS, numbered
from modeldyno.core.optimizations import PinKind
from modeldyno.core.runs import LatestRun
from modeldyno.core.tuning import OptimizationType
from modeldyno.core.typed_values import is_blank, typed
from modeldyno.store.configs import NAME as CONFIG

if TYPE_CHECKING:
    from modeldyno.api.inc.runnables import Runnables
    from modeldyno.services.optimizations import OptimizationService
    from modeldyno.store.history import History
    from modeldyno.store.records.all import Records

Row = dict[str, Any]

_MISSING = "Could not find required parameter."
_EDITABLE = "precision_id", "optimization_type_id", "dataset_id"
_OF_NUMBER: dict[int, OptimizationType] = {one.id: type for type, one in TYPES.items()}


def operations(
    records: Records, history: History, optimizations: OptimizationService, runnables: Runnables
) -> Operations:
    def add(asked: Parameters) -> Row:
        project_id = ProjectId(asked.id("project_id", _MISSING))
        made = optimizations.create(
            project_id,
            asked.text("name"),
            _type(asked.id("optimization_type_id", _MISSING)),
            _precision(asked.id("precision_id", _MISSING)),
            dataset_id=_dataset(asked),
            settings=_tuning(asked) | _tuning(asked.inside("tuning_details")),
        )
        return {"optimization_id": made.id}

    def edit(asked: Parameters) -> Row:
        number = OptimizationId(asked.id())
        sent = {
            name: asked.id(name)
            for name in ("precision_id", "optimization_type_id", "dataset_id")
            if name in asked
        }
        settings = _tuning(asked.inside("tuning_details"))
        before = optimizations.get(number)
        try:
            now = optimizations.edit(
                number,
                type=_type(sent["optimization_type_id"])
                if "optimization_type_id" in sent
                else None,
                precision=_precision(sent["precision_id"]) if "precision_id" in sent else None,
                dataset_id=DatasetId(sent["dataset_id"]) if "dataset_id" in sent else None,
                settings=settings or None,
            )
        except WrongState as error:
            text = "Can not modify optimization that has been run."
            raise WrongState(text, why=error.why, fix="Add another optimization") from error
        if now.type != before.type:
            sent["optimization_type_id"] = TYPES[now.type].id
        told: Row = {"id": number, **sent}
        if "tuning_details" in asked:
            told["tuning_details"] = tuning_shape(now)
            told["batch_size"] = now.tuning.batch_size
            told["sampling_size"] = now.tuning.sampling_size
        return told

    def details_of(number: int) -> Row:
        shown = optimizations.details(OptimizationId(number))
        job = records.jobs.of_run(shown.latest.id) if shown.latest else None
        return details_shape(history, shown, optimizations.trials(shown), job)

    def listed(asked: Parameters) -> Row:
        found = everything(optimizations.page, ProjectId(asked.id("project_id", _MISSING)))
        return {"optimizations": [optimization_shape(history, shown) for shown in found]}

    def pin(kind: PinKind) -> Operation:
        def pinned(asked: Parameters) -> Row:
            number = OptimizationId(asked.id("optimization_id", _MISSING))
            benchmark_id = BenchmarkId(asked.id("benchmark_id", _MISSING))
            optimizations.pin(number, kind, benchmark_id)
            return {"id": number, f"{kind}_benchmark_id": benchmark_id}

        return pinned

    def started(number: int, run_id: RunId) -> Row:
        optimization = optimizations.get(OptimizationId(number))
        model = records.models.get(optimization.model_id)
        folder = history.folder(run_id)
        has_config = optimization.type == "quantization"
        return {
            "size_input_model": round((model.size_bytes or 0) / 1e6),
            "config_path": str(folder.path / CONFIG) if has_config else None,
            "output_path": str(folder.log),
        }

    def latest(number: int) -> LatestRun | None:
        return optimizations.details(OptimizationId(number)).latest

    speech = Speech("optimization", details_of, started, unhappy="failure")
    runnables.announcer.speaks("optimization", speech)
    return {
        "optimization": lambda asked: details_of(asked.id()),
        "optimization/list": listed,
        "optimization/add": add,
        "optimization/edit": edit,
        **runnables.operations("optimization", optimizations, latest, cascade=False),
        "optimization/pin_accuracy_benchmark": pin("accuracy"),
        "optimization/pin_performance_benchmark": pin("performance"),
    }


def _type(number: int) -> OptimizationType:
    return _OF_NUMBER[numbered(OPTIMIZATION_TYPES, number, "optimization type").id]


def _precision(number: int) -> str:
    return numbered(PRECISIONS, number, "precision").name


def _dataset(asked: Parameters) -> DatasetId | None:
    """-1 is what ``project/create`` says when it made none."""
    return (
        None
        if asked.value("dataset_id") in (-1, "-1")
        else DatasetId(asked.id("dataset_id", _MISSING))
    )


def _tuning(asked: Parameters) -> dict[str, Any]:
    """What was said, by our names; forms send dates and numbers of their own along."""
    policy = asked.inside("exit_policy")
    trials = "max_trials" if "max_trials" in policy else "max_trails"  # as it is documented
    said = {
        "batch_size": _number(asked, "batch_size", "whole"),
        "sampling_size": _number(asked, "sampling_size", "whole"),
        "strategy": _word(asked, "strategy") or _word(asked, "tuning_strategy"),
        "criterion": _word(asked, "accuracy_criterion_type"),
        "threshold": _number(asked, "accuracy_criterion_threshold", "number"),
        "objective": _word(asked, "multi_objectives") or _word(asked, "objective"),
        "timeout_s": _number(policy, "timeout", "number"),
        "max_trials": _number(policy, trials, "whole"),
        "seed": _number(asked, "random_seed", "whole"),
    }
    return {name: value for name, value in said.items() if value is not None}


def _number(asked: Parameters, name: str, type: Any) -> Any:
    found = asked.value(name)
    return None if is_blank(found) else typed(type, name, found)


def _word(asked: Parameters, name: str) -> str | None:
    return asked.text(name, "").strip().lower() or None
