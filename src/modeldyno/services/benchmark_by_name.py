"""Measure a model by its name, in one call: find it, put it in the queue, give what came out."""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from modeldyno.core.benchmarks import Benchmark
from modeldyno.core.documents.benchmark_by_name import NamedPlace, measured_by_name
from modeldyno.core.documents.cells import CellDocument
from modeldyno.core.errors import (
    BadValue,
    Cancelled,
    EngineUnavailable,
    InputUnresolved,
    ModelNotFound,
    NameAmbiguous,
    UnsafeFormat,
    WrongState,
)
from modeldyno.core.ids import ModelId, ProjectId
from modeldyno.core.jobs import Job
from modeldyno.core.models import InputSpec, Model
from modeldyno.core.names import printable
from modeldyno.core.requests.axes import shared_sizes
from modeldyno.core.requests.measuring import MOST_BATCH, BenchmarkRequest
from modeldyno.core.results import Failure
from modeldyno.core.runs import ACTIVE, ListQuery
from modeldyno.engines import availability, catalog
from modeldyno.engines.catalog import EngineEntry, title_of
from modeldyno.inputs.model_overrides import require_complete
from modeldyno.inputs.open_axes import find_open_axes, require_dims
from modeldyno.services import requests
from modeldyno.services.benchmarks import BenchmarkService, MakeSpec
from modeldyno.services.jobs import JobService
from modeldyno.services.model_files import ModelFiles, require_inspected
from modeldyno.services.models import ModelService
from modeldyno.store.history import History
from modeldyno.store.named_models import FOLDERS, TOP, NamedModels
from modeldyno.store.records.all import Records

PROJECT = "By name"  # of models that are files; the others have projects of their own
_NUMBER = re.compile(rf"{TOP}/([1-9]\d{{0,8}})")  # as in /api/v1/models/12


@dataclass(frozen=True)
class NamedModel:
    model: Model
    path: str  # relative to the workspace, or ``models/<number>`` of one that is registered


@dataclass(frozen=True)
class MeasurementByName:
    """A request that was checked: what is measured, and which devices cannot be."""

    named: NamedModel
    engine: str
    devices: tuple[str, ...]  # in lower case, as requested
    unavailable: dict[str, Failure] = field(default_factory=dict)  # of those devices
    benchmark: Benchmark | None = None  # None, as is the job, when no device is left
    job: Job | None = None


class BenchmarkByName:
    def __init__(
        self,
        records: Records,
        named: NamedModels,
        files: ModelFiles,
        models: ModelService,
        benchmarks: BenchmarkService,
        jobs: JobService,
        history: History,
    ) -> None:
        self._records = records
        self._named = named
        self._files = files
        self._models = models
        self._benchmarks = benchmarks
        self._jobs = jobs
        self._history = history
        self._beginning = threading.Lock()  # two first calls make one project

    # ------------------------------------------------------------ begin

    def start(self, name: str, request: BenchmarkRequest) -> MeasurementByName:
        """In the queue, unless no device can be used; raises what is wrong with the rest."""
        _require_known_devices(request.devices)
        named = self._find(name)
        facts, _ = require_inspected(named.model)
        entry = _choose_engine(request.engines, facts.format)
        unavailable = _failures_by_unavailable_device(entry, request.devices)
        usable = [device for device in request.devices if device not in unavailable]
        measurement = MeasurementByName(named, entry.name, request.devices, unavailable)
        if not usable:
            return measurement
        self._require_runnable(named)
        _require_open_dims(shared_sizes(request.dims), facts.inputs)
        model, make_spec = named.model, _make_spec_maker(request, entry, usable)
        made, job = self._benchmarks.create(model.project_id, model.id, "", make_spec, start=True)
        return replace(measurement, benchmark=made, job=job)

    def devices_of(self, engine: str = "") -> dict[str, str]:
        """Each device, and why it cannot be used by that engine, or by any; empty: it can."""
        entries = [entry for entry in catalog.entries() if entry.name == engine]
        return availability.devices_of(entries[0]) if entries else availability.devices_here()

    # ------------------------------------------------------------ wait, or do not

    def is_over(self, job: Job) -> bool:
        return self._records.jobs.get(job.id).state not in ACTIVE

    def has_begun(self, job: Job) -> bool:
        return self._records.jobs.get(job.id).state != "queued"

    def stop(self, job: Job) -> None:
        """Its client has disconnected."""
        self._jobs.cancel(job.id)

    # ------------------------------------------------------------ what came out

    def outcomes(self, measurement: MeasurementByName) -> dict[str, dict[str, Any] | Failure]:
        """By device, in the order requested: its answer, or why it was not measured."""
        unavailable, job = measurement.unavailable, measurement.job
        if job is None:
            return {device: unavailable[device] for device in measurement.devices}
        run = self._records.runs.get(job.run_id)
        why = Failure(**run.failure) if run.failure else _failure_of_ended_job(run.state)
        measured = self._read_outcomes(measurement, job, why)
        return {
            device: unavailable.get(device) or measured.get(device, why)
            for device in measurement.devices
        }

    def _read_outcomes(
        self, measurement: MeasurementByName, job: Job, why: Failure
    ) -> dict[str, dict[str, Any] | Failure]:
        """What failed before anything was measured may have left no result."""
        assert measurement.benchmark is not None
        if not (self._history.folder(job.run_id).path / "result.json").exists():
            return {}
        result: Any = self._history.read(job.run_id).result
        named, outcomes = measurement.named, {}
        # None in the database: that could not take them, and the run says why.
        for text, cell in zip(self._records.runs.cells(job.run_id), result.cells, strict=False):
            # An engine counts better than a file, which may not tell weights from buffers.
            counted = cell.facts.parameters if cell.facts else None
            place = NamedPlace(
                framework=title_of(measurement.engine),
                device=cell.spec.device,
                parameters=_parameters(named.model) if counted is None else counted,
                model_name=named.model.name,
                model_path=named.path,
                run_id=job.run_id,
                benchmark_id=measurement.benchmark.id,
                job_id=job.id,
            )
            outcomes[place.device] = _cell_outcome(CellDocument.read(text), place, why)
        return outcomes

    # ------------------------------------------------------------ inside

    def _find_or_add_project(self) -> ProjectId:
        with self._beginning:
            return self._find_project() or self._records.projects.add(PROJECT).id

    def _find_project(self) -> ProjectId | None:
        wanted = ListQuery(text=PROJECT, descending=False, limit=200)
        projects = self._records.projects.page(wanted).items
        return next((project.id for project in projects if project.name == PROJECT), None)

    def _find(self, name: str) -> NamedModel:
        """Files are looked at anew; what was made of them before counts for nothing."""
        if numbered := _NUMBER.fullmatch(name):
            return self._find_by_number(ModelId(int(numbered[1])))
        paths = self._named.find(name)
        ours = self._find_project()
        registered = [m for m in self._records.models.find_by_name(name) if m.project_id != ours]
        if any(_is_exact(path, name) for path in paths) or any(m.name == name for m in registered):
            paths = tuple(path for path in paths if _is_exact(path, name))
            registered = [model for model in registered if model.name == name]
        self._require_only_match(name, paths, registered)
        if paths:
            model = self._files.find_or_add_current(
                self._find_or_add_project(), paths[0], self._named.roots
            )
            return NamedModel(model, f"{TOP}/{paths[0]}")
        return NamedModel(registered[0], f"{TOP}/{registered[0].id}")

    def _find_by_number(self, number: ModelId) -> NamedModel:
        model = self._records.models.get(number)
        if model.origin == "terminal":
            raise ModelNotFound(
                f"The file of model {number} is not in the workspace",
                why="it was measured in the terminal, at its original place",
                fix="Upload it to a project",
            )
        return NamedModel(model, f"{TOP}/{number}")

    def _require_only_match(
        self, name: str, paths: Sequence[str], registered: Sequence[Model]
    ) -> None:
        if not paths and not registered:
            close = self._named.suggest_similar_names(name)
            places = ", ".join(f"{TOP}/{folder}" for folder in FOLDERS)
            raise ModelNotFound(
                f'There is no model "{printable(name)}"',
                why=f"neither {places} of the workspace nor any project has one of exactly that "
                "name",
                fix=f"Did you mean {close[0]}?" if close else "Put the file there, or upload it",
            )
        if len(paths) + len(registered) == 1:
            return
        contents = {self._named.sha256(path) for path in paths}
        contents |= {model.sha256 or "" for model in registered}
        if len(contents) > 1:
            candidates = [f"{TOP}/{path}" for path in paths]
            candidates += [f"{TOP}/{model.id}" for model in registered]
            raise NameAmbiguous(
                f'"{printable(name)}" is the name of {len(candidates)} models',
                why="they differ, and we do not choose: " + ", ".join(candidates[:20]),
                fix=f"Ask for one of them by its path, such as {candidates[0]}",
                candidates=tuple(candidates),
            )

    def _require_runnable(self, named: NamedModel) -> None:
        """Raises what the terminal would, with what helps here."""
        facts, _ = require_inspected(named.model)
        try:
            require_complete(facts)
        except InputUnresolved as error:
            raise InputUnresolved(error.title, why=error.why, fix=_describe(named)) from error
        try:
            self._models.require_runnable(named.model.id)
        except UnsafeFormat as error:
            raise UnsafeFormat(
                error.title,
                why=error.why,
                fix=f"If you made it or trust who did: `modeldyno trust {named.path}` in the "
                f"folder of the workspace, or PUT /api/v1/models/{named.model.id}/trust. From a "
                "stranger, ask for ONNX",
            ) from error


def _is_exact(path: str, name: str) -> bool:
    return path.rpartition("/")[2] == name.rpartition("/")[2]


def _require_known_devices(requested: Sequence[str]) -> None:
    known = availability.all_devices()
    for device in requested:
        kind, colon, number = device.partition(":")
        if kind not in known or (colon and not number.isdigit()):
            raise BadValue(
                f'There is no device "{printable(device)}"',
                why=f"known are {', '.join(known)}",
                fix="Use one of those; cuda:1 is the second GPU",
            )


def _require_open_dims(dims: Mapping[str, int], inputs: tuple[InputSpec, ...]) -> None:
    """Raises what the terminal would, as the query has it."""
    try:
        require_dims(dims, find_open_axes(inputs), inputs)
    except BadValue as error:
        title, fix = (text.replace("--dim ", "dim=") for text in (error.title, error.fix))
        raise BadValue(title, why=error.why, fix=fix) from error
    for name, size in dims.items():
        if not 1 <= size <= MOST_BATCH:
            raise BadValue(
                f"dim={name}={size} is not a size",
                why=f"sizes are whole numbers from 1 to {MOST_BATCH}",
                fix=f"Say dim={name}=1 or more",
            )


def _choose_engine(requested: Sequence[str], model_format: str) -> EngineEntry:
    entry = catalog.require_usable(requested[0]) if requested else catalog.for_format(model_format)
    if model_format not in entry.formats:
        raise BadValue(
            f"Engine {entry.name!r} does not read {model_format} models",
            why=f"it reads {', '.join(entry.formats)}",
            fix=f"Use engine={catalog.for_format(model_format).name}, or leave it out",
        )
    return entry


def _failures_by_unavailable_device(
    entry: EngineEntry, requested: Sequence[str]
) -> dict[str, Failure]:
    reasons = availability.devices_of(entry)
    return {
        device: Failure.of(
            EngineUnavailable(
                f"Device {device} is not available: {why}",
                why=why,
                fix="Use one of the available devices; docs/devices.md says how to get others",
            )
        )
        for device in requested
        if (why := reasons[device.partition(":")[0]])
    }


def _make_spec_maker(
    request: BenchmarkRequest, entry: EngineEntry, usable: Sequence[str]
) -> MakeSpec:
    request = replace(request, engines=(entry.name,), devices=tuple(usable))
    return lambda path: replace(requests.make_benchmark_spec(request, path), meters=True)


def _describe(named: NamedModel) -> str:
    """How to say what a PyTorch file leaves out."""
    if named.path == f"{TOP}/{named.model.id}":
        return (
            f"Put the file into {TOP}/{FOLDERS[1]} of the workspace, with what it leaves out in "
            f"{named.model.name}.modeldyno.toml beside it"
        )
    return (
        f"Write {named.path}.modeldyno.toml: architecture = "
        '"package.module:factory" (of a checkpoint), and [[inputs]] with name, dtype and shape'
    )


def _cell_outcome(cell: CellDocument, place: NamedPlace, why: Failure) -> dict[str, Any] | Failure:
    """Nothing counts as measured that did not go well to its end."""
    if cell.status == "done" and cell.latency_ms is not None:
        return measured_by_name(cell, place)
    error = cell.error
    return Failure(error.code, error.title, error.detail, error.fix) if error else why


def _parameters(model: Model) -> int | None:
    return model.facts.parameters if model.facts else None


def _failure_of_ended_job(state: str) -> Failure:
    if state == "interrupted":
        return Failure.of(
            WrongState("The server stopped before it was measured", fix="Try again when it is back")
        )
    return Failure.of(Cancelled("Somebody cancelled it", fix="Ask again"))
