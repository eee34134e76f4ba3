"""How an optimization looks for a better model, and what counts as good enough."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Literal, get_args

from modeldyno.core.datasets import DatasetSpec, by_name
from modeldyno.core.documents.described import Described
from modeldyno.core.errors import BadValue

if TYPE_CHECKING:
    from modeldyno.core.specs import OptimizationSpec

OptimizationType = Literal["quantization", "graph", "mixed-precision"]
Strategy = Literal[
    "basic", "bayesian", "exhaustive", "automixedprecision", "mse", "random", "sigopt", "tpe"
]
TuningObjective = Literal["accuracy", "performance", "footprint", "modelsize"]
Criterion = Literal["relative", "absolute"]

# The precisions that each type can make.
PRECISIONS: dict[OptimizationType, tuple[str, ...]] = {
    "quantization": ("int8", "int8 static quantization", "int8 dynamic quantization"),
    "graph": ("fp32", "bf16"),
    "mixed-precision": ("bf16", "fp16"),
}
MOST = 1_000_000
MOST_SEED = 2**32 - 1


def types_for(precision: str) -> tuple[OptimizationType, ...]:
    return tuple(type for type, precisions in PRECISIONS.items() if precision in precisions)


def type_for(precision: str, before: OptimizationType) -> OptimizationType:
    """The type for a precision: the same as before if possible, else the one that changes weights
    rather than the graph."""
    fitting = types_for(precision)
    if before in fitting or not fitting:
        return before
    return fitting[-1]


def require_fitting_precision(type: OptimizationType, precision: str) -> None:
    """Raises BadValue if that type cannot make that precision."""
    if precision not in PRECISIONS[type]:
        raise BadValue(
            f"A {TYPE_NAMES[type]} cannot make {precision}",
            fix=f"It makes: {', '.join(PRECISIONS[type])}",
        )


TYPE_NAMES: dict[OptimizationType, str] = {
    "quantization": "quantization",
    "graph": "graph optimization",
    "mixed-precision": "mixed precision",
}


@dataclass(frozen=True, kw_only=True)
class TuningSettings(Described):
    """The usual ones are those that clients of INC Bench know."""

    batch_size: int = 100
    """Items per call."""
    sampling_size: int = 100
    """Samples to calibrate with."""
    strategy: Strategy = "basic"
    """How the next trial is chosen."""
    criterion: Criterion = "relative"
    """What `threshold` is a part of."""
    threshold: float = 0.1
    """A fraction: 0.1 allows a tenth less accuracy, or 0.1 less where absolute."""
    objective: TuningObjective = "performance"
    """What is to become better."""
    timeout_s: float = 0.0
    """0: as soon as a model is good enough."""
    max_trials: int = 25
    """At most so many."""
    seed: int = 9527
    """Of whatever is random."""


def tuning_of(settings: dict[str, Any]) -> TuningSettings:
    """Stored settings, completed with defaults; not checked."""
    names = {field.name for field in fields(TuningSettings)}
    return TuningSettings(**{name: settings[name] for name in names & settings.keys()})


def require_possible(settings: dict[str, Any]) -> None:
    """Raises BadValue for settings that are out of range."""
    tuning = tuning_of(settings)
    _require_choice("strategy", tuning.strategy, Strategy)
    _require_choice("objective", tuning.objective, TuningObjective)
    _require_choice("accuracy criterion", tuning.criterion, Criterion)
    _require_range("batch size", tuning.batch_size, 1, MOST)
    _require_range("sampling size", tuning.sampling_size, 1, MOST)
    _require_range("number of trials", tuning.max_trials, 1, MOST)
    _require_range("timeout", tuning.timeout_s, 0, MOST)
    _require_range("random seed", tuning.seed, 0, MOST_SEED)
    if not 0 <= tuning.threshold <= 1:
        raise BadValue(
            f"The accuracy criterion cannot be {tuning.threshold:g}",
            why="it is a fraction from 0 to 1, as accuracies are",
            fix="For one percent send 0.01",
        )


def minimal_accuracy(tuning: TuningSettings, baseline: float) -> float:
    if tuning.criterion == "relative":
        return baseline * (1 - tuning.threshold)
    return baseline - tuning.threshold


def _require_choice(noun: str, choice: str, literal: Any) -> None:
    choices = get_args(literal)
    if choice not in choices:
        raise BadValue(
            f"There is no {noun} {str(choice)[:100]!r}", fix=f"Choose one of: {', '.join(choices)}"
        )


def _require_range(noun: str, number: float, least: int, most: int) -> None:
    if not least <= number <= most:
        raise BadValue(f"The {noun} cannot be {number:g}", why=f"it is from {least} to {most}")


DYNAMIC = "int8 dynamic quantization"  # all others are calibrated


def tuning_config(spec: OptimizationSpec) -> dict[str, Any]:
    """Contains everything that the user chose, and nothing else."""
    settings = spec.settings
    config: dict[str, Any] = {
        "version": 1.0,
        "model": _model_section(spec),
        "quantization": {
            "calibration": {"sampling_size": settings.sampling_size},
            "approach": f"post_training_{_when_clause(spec)}_quant",
        },
        "tuning": {
            "strategy": {"name": settings.strategy},
            "accuracy_criterion": {settings.criterion: settings.threshold},
            "multi_objectives": {"objective": settings.objective},
            "exit_policy": {"timeout": settings.timeout_s, "max_trials": settings.max_trials},
            "random_seed": settings.seed,
        },
    }
    if spec.dataset is not None:
        loader = _dataloader_section(spec.dataset, settings.batch_size)
        config["quantization"]["calibration"]["dataloader"] = loader
        metric = spec.dataset.metric
        metrics = {"metric": {metric["name"]: metric["param"]}} if metric else {}
        # A copy: YAML would write a second reference as an alias.
        config["evaluation"] = {
            "accuracy": metrics
            | {"dataloader": _dataloader_section(spec.dataset, settings.batch_size)}
        }
    return config


def _when_clause(spec: OptimizationSpec) -> str:
    return "dynamic" if spec.precision == DYNAMIC else "static"


def _model_section(spec: OptimizationSpec) -> dict[str, Any]:
    model: dict[str, Any] = {"name": spec.name}
    model |= {"framework": spec.framework} if spec.framework else {}
    model |= {"inputs": _tensor_names(spec.inputs)} if spec.inputs else {}
    return model | ({"outputs": _tensor_names(spec.outputs)} if spec.outputs else {})


def _tensor_names(names: Sequence[str]) -> str | list[str]:
    """A single name is not a list."""
    return names[0] if len(names) == 1 else [*names]


def _dataloader_section(dataset: DatasetSpec, batch_size: int) -> dict[str, Any]:
    loader: dict[str, Any] = {
        "batch_size": batch_size,
        "dataset": {dataset.kind: dict(dataset.parameters)},
    }
    if dataset.transforms:
        loader["transform"] = {
            name: dict(params) for name, params in by_name(dataset.transforms).items()
        }
    return loader | ({"filter": dict(dataset.filter)} if dataset.filter else {})
