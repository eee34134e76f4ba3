"""``optimization/…``"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from modeldyno.api.inc.announcing import Speech
from modeldyno.api.inc.model_shape import model_shape
from modeldyno.api.inc.naming import TYPES
from modeldyno.api.inc.operations import Operation, Operations
from modeldyno.api.inc.optimization_shape import optimization_shape, tuning_shape
from modeldyno.api.inc.parameters import MISSING, Parameters
from modeldyno.api.inc.runnables import before_its_first_run
from modeldyno.api.inc.shapes import Json, Place, everything
from modeldyno.core.dictionaries import OPTIMIZATION_TYPES, PRECISIONS, require_numbered
from modeldyno.core.ids import BenchmarkId, DatasetId, OptimizationId, ProjectId, RunId
from modeldyno.core.optimizations import OptimizationDetails, PinKind
from modeldyno.core.tuning import OptimizationType
from modeldyno.services.typed_values import is_blank, typed
from modeldyno.store.configs import NAME as CONFIG

if TYPE_CHECKING:
    from modeldyno.api.inc.runnables import Runnables
    from modeldyno.services.optimizations import OptimizationService
    from modeldyno.store.history import History
    from modeldyno.store.records.all import Records

_OF_NUMBER: dict[int, OptimizationType] = {one.id: type for type, one in TYPES.items()}


def operations(
    records: Records, history: History, optimizations: OptimizationService, runnables: Runnables
) -> Operations:
    def add(asked: Parameters) -> Json:
        project_id = ProjectId(asked.id("project_id", MISSING))
        made = optimizations.create(
            project_id,
            asked.text("name"),
            _type(asked.id("optimization_type_id", MISSING)),
            _precision(asked.id("precision_id", MISSING)),
            dataset_id=_dataset(asked),
            settings=_tuning(asked) | _tuning(asked.inside("tuning_details")),
        )
        return {"optimization_id": made.id}

    def edit(asked: Parameters) -> Json:
        number = OptimizationId(asked.id())
        names = ("precision_id", "optimization_type_id", "dataset_id")
        sent = {name: asked.id(name) for name in names if name in asked}
        settings = _tuning(asked.inside("tuning_details"))
        before = optimizations.get(number)
        precision, type, dataset = (sent.get(name) for name in names)
        with before_its_first_run("optimization", before.state):
            after = optimizations.edit(
                number,
                type=_type(type) if type else None,
                precision=_precision(precision) if precision else None,
                dataset_id=DatasetId(dataset) if dataset else None,
                settings=settings or None,
            )
        if after.type != before.type:
            sent["optimization_type_id"] = TYPES[after.type].id
        echo: Json = {"id": number, **sent}
        if "tuning_details" in asked:
            echo["tuning_details"] = tuning_shape(after)
            echo["batch_size"] = after.tuning.batch_size
            echo["sampling_size"] = after.tuning.sampling_size
        return echo

    def details_of(number: int) -> Json:
        details = optimizations.details(OptimizationId(number))
        place = place_of(details, runnables.reason(details.latest))
        return optimization_shape(details, place, optimizations.trials(details))

    def listed(asked: Parameters) -> Json:
        page = everything(optimizations.page, ProjectId(asked.id("project_id", MISSING)))
        return {
            "optimizations": [optimization_shape(details, place_of(details)) for details in page]
        }

    def place_of(details: OptimizationDetails, reason: str = "") -> Place:
        folder = history.folder(details.latest.id) if details.latest else None
        return Place(
            model=model_shape(details.made) if details.made else None,
            dataset={
                "id": details.optimization.dataset_id or -1,
                "name": details.dataset_name or "",
            },
            config=_existing(folder.path / CONFIG) if folder else None,
            log=_existing(folder.log) if folder else None,
            reason=reason,
        )

    def pin(kind: PinKind) -> Operation:
        def pinned(asked: Parameters) -> Json:
            number = OptimizationId(asked.id("optimization_id", MISSING))
            benchmark_id = BenchmarkId(asked.id("benchmark_id", MISSING))
            optimizations.pin(number, kind, benchmark_id)
            return {"id": number, f"{kind}_benchmark_id": benchmark_id}

        return pinned

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

    speech = Speech("optimization", details_of, started, unhappy="failure")
    return {
        **runnables.operations(optimizations, speech, cascade=False),
        "optimization/list": listed,
        "optimization/add": add,
        "optimization/edit": edit,
        "optimization/pin_accuracy_benchmark": pin("accuracy"),
        "optimization/pin_performance_benchmark": pin("performance"),
    }


def _existing(file: Path) -> str | None:
    return str(file) if file.is_file() else None


def _type(number: int) -> OptimizationType:
    return _OF_NUMBER[require_numbered(OPTIMIZATION_TYPES, number, "optimization type").id]


def _precision(number: int) -> str:
    return require_numbered(PRECISIONS, number, "precision").name


def _dataset(asked: Parameters) -> DatasetId | None:
    """-1 is what ``project/create`` says when it made none."""
    return (
        None
        if asked.value("dataset_id") in (-1, "-1")
        else DatasetId(asked.id("dataset_id", MISSING))
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
