"""How ``/api`` writes what its answers share: times, states, reasons, models, datasets."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, TypeVar

from modeldyno.api.errors import join_sentences
from modeldyno.core.datasets import Dataset, transform_of
from modeldyno.core.dictionaries import (
    DOMAINS,
    FLAVOURS,
    FP32,
    NO_FLAVOUR,
    NONE,
    PRECISIONS,
    Numbered,
    find_named,
    framework_of,
)
from modeldyno.core.ids import ProjectId
from modeldyno.core.models import FORMATS, Boundary, Model, precision_of
from modeldyno.core.redaction import without_folders
from modeldyno.core.runs import ACTIVE, LARGEST_PAGE, LatestRun, ListQuery, Page, Runnable, State

T = TypeVar("T")
Json = dict[str, Any]
STATUS: dict[State, str | None] = {
    "draft": None,
    "queued": None,
    "running": "wip",
    "done": "success",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What a shape needs in addition to the document: what this server has, and where. Paths are
    those of the latest run."""

    model: Json | None
    dataset: Json
    config: str | None = None
    log: str | None = None
    unfit: str = ""  # note if the dataset does not fit the model's inputs
    cores: int = 0  # available for measuring
    reason: str = ""  # of the latest run's job, for details of one thing


def head_shape(runnable: Any) -> Json:
    return {"project_id": runnable.project_id, "id": runnable.id, "name": runnable.name}


def state_shape(
    runnable: Runnable, latest: LatestRun | None, round_s: Callable[[float], int] = round
) -> Json:
    """``round_s`` makes whole seconds of the latest run's duration."""
    return {
        "status": STATUS.get(runnable.state, "error"),
        "created_at": utc_text(runnable.created_at),
        "last_run_at": utc_text(runnable.last_run_at),
        "duration": run_seconds(latest, round_s),
    }


def note_shape(latest: LatestRun | None, surroundings: Surroundings, *more: str) -> str:
    """Why the run is not done, and how it differs from what was requested."""
    notes = (why_not_done(latest, surroundings.reason), surroundings.unfit, *more)
    return "; ".join(note for note in notes if note)


def iterate_all_pages(
    page: Callable[[ListQuery], Page[T]], project_id: ProjectId | None = None
) -> Iterator[T]:
    """The items of all pages, oldest first: lists of ``/api`` have no pages."""
    wanted = ListQuery(project_id=project_id, descending=False, limit=LARGEST_PAGE)
    while True:
        current = page(wanted)
        yield from current.items
        if current.next is None:
            return
        wanted = replace(wanted, cursor=current.next)


def utc_text(at: datetime | None) -> str:
    """None is the text "None", as its clients know it."""
    return "None" if at is None else at.astimezone(UTC).isoformat(" ", "seconds")[:19]


def run_seconds(run: LatestRun | None, round_s: Callable[[float], int] = round) -> int | None:
    if run is None or run.started_at is None or run.finished_at is None:
        return None
    return round_s((run.finished_at - run.started_at).total_seconds())


def why_not_done(latest: LatestRun | None, reason: str) -> str:
    """Empty if the run is done or still active. ``reason`` is that of its job, which lists do not
    read: without it, who cancelled or interrupted the run is unknown."""
    if latest is None or latest.state == "done" or latest.state in ACTIVE:
        return ""
    if latest.failure is not None:
        return failure_text(latest.failure)
    return sentence(reason or f"it was {latest.state}")


def failure_text(failure: Mapping[str, str]) -> str:
    return sentence(join_sentences(*(failure.get(part, "") for part in ("title", "why", "fix"))))


def sentence(message: str) -> str:
    """Capitalised, and without folders of this machine."""
    message = without_folders(message)
    return message[:1].upper() + message[1:]


# Of a project without a model: clients read these fields without checking.
NO_MODEL: Json = {
    "id": 0,
    "name": "",
    "path": "",
    "framework": NONE.as_json,
    "size": 0.0,
    "precision": FP32.as_json,
    "domain": NONE.as_json,
    "domain_flavour": NO_FLAVOUR.as_json,
    "input_nodes": [],
    "output_nodes": [],
    "supports_profiling": False,
    "supports_graph": False,
    "created_at": "None",
}


def model_shape(model: Model) -> Json:
    boundary = model.boundary or Boundary()
    inputs, outputs = _boundary_names(model, boundary)
    return {
        "id": model.id,
        "name": model.name,
        "path": path_of(model),
        "framework": framework_of(model.format, model.framework).as_json,
        "size": megabytes(model.size_bytes or 0),
        "precision": precision(model).as_json,
        "domain": (find_named(DOMAINS, model.domain) or NONE).as_json,
        "domain_flavour": (find_named(FLAVOURS, boundary.domain_flavour) or NO_FLAVOUR).as_json,
        "input_nodes": inputs,
        "output_nodes": outputs,
        "supports_profiling": model.format is not None,
        "supports_graph": model.format is not None and not FORMATS[model.format].no_graph,
        "created_at": utc_text(model.created_at),
    }


def _boundary_names(model: Model, boundary: Boundary) -> tuple[list[str], list[str]]:
    """As the user chose them, or else those of the model."""
    inputs = [spec.name for spec in model.facts.inputs] if model.facts else []
    outputs = [spec.name for spec in model.facts.outputs] if model.facts else []
    return [*boundary.inputs] or inputs, [*boundary.outputs] or outputs


def path_of(model: Model) -> str:
    """The path that the client gave, or else that of the workspace's copy."""
    return model.source if model.origin == "path" and model.source else model.path


def precision(model: Model) -> Numbered:
    """As the user said, or else that of its weights."""
    name = model.precision or (precision_of(model.facts) if model.facts else "")
    return find_named(PRECISIONS, name) or (Numbered(0, name) if name else FP32)


def megabytes(size_bytes: int) -> float:
    return round(size_bytes / 1e6, 3)


CALIBRATION = 100  # samples, and batch size: the defaults of optimizations

# Of a run without a dataset: clients read these fields without checking.
NO_DATASET: Json = {
    "id": -1,
    "project_id": -1,
    "name": "",
    "dataset_type": "",
    "parameters": {},
    "transforms": {},
    "filter": None,
    "metric": {},
    "calibration_batch_size": CALIBRATION,
    "calibration_sampling_size": CALIBRATION,
    "template_path": None,
    "created_at": "None",
}


def dataset_shape(dataset: Dataset) -> Json:
    return NO_DATASET | {
        "id": dataset.id,
        "project_id": dataset.project_id,
        "name": dataset.name,
        "dataset_type": dataset.kind,
        "parameters": dataset.parameters,
        "transforms": _transforms(dataset),
        "filter": dataset.filter,
        "metric": dataset.metric or {},
        "template_path": dataset.template_path,
        "created_at": utc_text(dataset.created_at),
    }


def _transforms(dataset: Dataset) -> Any:
    """Documented as ``{}``; if there are any, the stock client iterates over a list and fails on
    anything else."""
    pairs = map(transform_of, dataset.transforms)
    return [{"name": name, "params": params} for name, params in pairs] or {}
