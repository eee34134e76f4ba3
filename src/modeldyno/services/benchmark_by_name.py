"""Measure a model by its name, in one call: find it, put it in the queue, say what came out."""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from modeldyno.core.axes import check_dims, open_axes
from modeldyno.core.benchmarks import Benchmark
from modeldyno.core.client_paths import shown
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
from modeldyno.core.models import InputSpec, Model
from modeldyno.core.pages import Wanted
from modeldyno.core.placeless import placeless
from modeldyno.core.queue import Job
from modeldyno.core.requests.measuring import MOST_BATCH, BenchmarkRequest
from modeldyno.core.results import CellResult, Failure
from modeldyno.core.runs import ACTIVE
from modeldyno.core.stated import check_complete
from modeldyno.engines import availability, catalog
from modeldyno.engines.catalog import Entry
from modeldyno.services import requests
from modeldyno.services.benchmarks import BenchmarkService, MakeSpec
from modeldyno.services.jobs import JobService
from modeldyno.services.model_files import ModelFiles, looked_into
from modeldyno.services.models import ModelService
from modeldyno.store.history import History
from modeldyno.store.named_models import FOLDERS, TOP, NamedModels
from modeldyno.store.records.all import Records

PROJECT = "By name"  # of models that are files; the others have projects of their own
_NUMBER = re.compile(rf"{TOP}/([1-9]\d{{0,8}})")  # as in /api/v1/models/12


@dataclass(frozen=True)
class Wish:
    """``devices`` in lower case, none of them twice; an empty ``engine``: the first that fits."""

    name: str
    devices: tuple[str, ...] = ("cpu",)
    iterations: int = 100
    warmup: int = 10
    batch_size: int = 1
    cores: int = 1
    engine: str = ""
    dims: Mapping[str, int] = field(default_factory=dict)  # of what the model leaves open


@dataclass(frozen=True)
class Found:
    model: Model
    path: str  # relative to the workspace, or ``models/<number>`` of one that is registered


@dataclass(frozen=True)
class Asked:
    """A wish that was looked at: what is measured, and which devices cannot be."""

    found: Found
    engine: str
    unavailable: dict[str, Failure] = field(default_factory=dict)  # of those that were wished for
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

    def start(self, wish: Wish) -> Asked:
        """In the queue, unless no device can be used; raises what is wrong with the rest."""
        _expect_known(wish.devices)
        found = self._find(wish.name)
        facts, _ = looked_into(found.model)
        entry = _engine_for(wish.engine, facts.format)
        unavailable = _unavailable(entry, wish.devices)
        usable = [device for device in wish.devices if device not in unavailable]
        if not usable:
            return Asked(found, entry.name, unavailable)
        self._expect_runnable(found)
        _expect_open(wish.dims, facts.inputs)
        model, make_spec = found.model, _spec_of(wish, entry, usable)
        made, job = self._benchmarks.create(model.project_id, model.id, "", make_spec, start=True)
        return Asked(found, entry.name, unavailable, made, job)

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
        """Nobody waits for it any more."""
        self._jobs.cancel(job.id)

    # ------------------------------------------------------------ what came out

    def outcomes(self, asked: Asked, wish: Wish) -> dict[str, CellResult | Failure]:
        """By device, as they were wished for; what was not measured has a failure."""
        if asked.job is None:
            return {device: asked.unavailable[device] for device in wish.devices}
        run = self._records.runs.get(asked.job.run_id)
        result: Any = self._history.read(run.id).result if self._has_folder(asked.job) else None
        cells: dict[str, CellResult] = {}
        if result is not None:
            model = asked.found.model
            told = placeless(result, {model.path: model.name})
            cells = {cell.spec.device: cell for cell in told.cells}
        why = Failure(**run.failure) if run.failure else _ended(run.state)
        return {
            device: asked.unavailable.get(device) or _outcome(cells.get(device), why)
            for device in wish.devices
        }

    def _has_folder(self, job: Job) -> bool:
        """What failed before anything was measured may have left none."""
        return (self._history.folder(job.run_id).path / "result.json").exists()

    # ------------------------------------------------------------ inside

    def _project(self) -> ProjectId:
        with self._beginning:
            return self._known_project() or self._records.projects.add(PROJECT).id

    def _known_project(self) -> ProjectId | None:
        wanted = Wanted(text=PROJECT, descending=False, limit=200)
        found = self._records.projects.page(wanted).items
        return next((project.id for project in found if project.name == PROJECT), None)

    def _find(self, name: str) -> Found:
        """Files are looked at anew; what was made of them before counts for nothing."""
        if numbered := _NUMBER.fullmatch(name):
            return self._numbered(ModelId(int(numbered[1])))
        paths = self._named.find(name)
        ours = self._known_project()
        registered = [m for m in self._records.models.called(name) if m.project_id != ours]
        if any(_is_exact(path, name) for path in paths) or any(m.name == name for m in registered):
            paths = tuple(path for path in paths if _is_exact(path, name))
            registered = [model for model in registered if model.name == name]
        self._expect_one(name, paths, registered)
        if paths:
            model = self._files.current(self._project(), paths[0], self._named.roots)
            return Found(model, f"{TOP}/{paths[0]}")
        return Found(registered[0], f"{TOP}/{registered[0].id}")

    def _numbered(self, number: ModelId) -> Found:
        model = self._records.models.get(number)
        if model.origin == "terminal":
            raise ModelNotFound(
                f"The file of model {number} is not in the workspace",
                why="it was measured in the terminal, where it lay",
                fix="Upload it to a project",
            )
        return Found(model, f"{TOP}/{number}")

    def _expect_one(self, name: str, paths: Sequence[str], registered: Sequence[Model]) -> None:
        if not paths and not registered:
            close = self._named.like(name)
            places = ", ".join(f"{TOP}/{folder}" for folder in FOLDERS)
            raise ModelNotFound(
                f'There is no model "{shown(name)}"',
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
                f'"{shown(name)}" is the name of {len(candidates)} models',
                why="they differ, and we do not choose: " + ", ".join(candidates[:20]),
                fix=f"Ask for one of them by its path, such as {candidates[0]}",
                candidates=tuple(candidates),
            )

    def _expect_runnable(self, found: Found) -> None:
        """Raises what the terminal would, with what helps here."""
        facts, _ = looked_into(found.model)
        try:
            check_complete(facts)
        except InputUnresolved as error:
            raise InputUnresolved(error.title, why=error.why, fix=_describe(found)) from error
        try:
            self._models.runnable(found.model.id)
        except UnsafeFormat as error:
            raise UnsafeFormat(
                error.title,
                why=error.why,
                fix=f"If you made it or trust who did: `modeldyno trust {found.path}` in the "
                f"folder of the workspace, or PUT /api/v1/models/{found.model.id}/trust. From a "
                "stranger, ask for ONNX",
            ) from error


def _is_exact(path: str, name: str) -> bool:
    return path.rpartition("/")[2] == name.rpartition("/")[2]


def _expect_known(wished: Sequence[str]) -> None:
    known = availability.all_devices()
    for device in wished:
        kind, colon, number = device.partition(":")
        if kind not in known or (colon and not number.isdigit()):
            raise BadValue(
                f'There is no device "{shown(device)}"',
                why=f"known are {', '.join(known)}",
                fix="Use one of those; cuda:1 is the second GPU",
            )


def _expect_open(dims: Mapping[str, int], inputs: tuple[InputSpec, ...]) -> None:
    """Raises what the terminal would, as the query has it."""
    try:
        check_dims(dims, open_axes(inputs), inputs)
    except BadValue as error:
        title, fix = (text.replace("--dim ", "dim=") for text in (error.title, error.fix))
        raise BadValue(title, why=error.why, fix=fix) from error
    for name, size in dims.items():
        if not 1 <= size <= MOST_BATCH:
            raise BadValue(
                f"dim={name}={size} is no size",
                why=f"sizes are whole numbers from 1 to {MOST_BATCH}",
                fix=f"Say dim={name}=1 or more",
            )


def _engine_for(said: str, model_format: str) -> Entry:
    entry = catalog.require_usable(said) if said else catalog.for_format(model_format)
    if model_format not in entry.formats:
        raise BadValue(
            f"Engine {entry.name!r} does not read {model_format} models",
            why=f"it reads {', '.join(entry.formats)}",
            fix=f"Use engine={catalog.for_format(model_format).name}, or leave it out",
        )
    return entry


def _unavailable(entry: Entry, wished: Sequence[str]) -> dict[str, Failure]:
    reasons = availability.devices_of(entry)
    return {
        device: Failure.of(
            EngineUnavailable(
                f"Device {device} is not available: {why}",
                why=why,
                fix="Use one of the available devices; docs/devices.md says how to get others",
            )
        )
        for device in wished
        if (why := reasons[device.partition(":")[0]])
    }


def _spec_of(wish: Wish, entry: Entry, usable: Sequence[str]) -> MakeSpec:
    request = BenchmarkRequest(
        engines=(entry.name,),
        batch_sizes=(wish.batch_size,),
        cores=(wish.cores,),
        devices=tuple(usable),
        dims=dict(wish.dims),
        iterations=wish.iterations,
        warmup=wish.warmup,
    )
    return lambda path: replace(requests.benchmark_spec(request, path), meters=True)


def _describe(found: Found) -> str:
    """How to say what a PyTorch file leaves out."""
    if found.path == f"{TOP}/{found.model.id}":
        return (
            f"Put the file into {TOP}/{FOLDERS[1]} of the workspace, with what it leaves out in "
            f"{found.model.name}.modeldyno.toml beside it"
        )
    return (
        f"Write {found.path}.modeldyno.toml: architecture = "
        '"package.module:factory" (of a checkpoint), and [[inputs]] with name, dtype and shape'
    )


def _outcome(cell: CellResult | None, why: Failure) -> CellResult | Failure:
    """Nothing is told as measured that did not go well to its end."""
    if cell is None:
        return why
    if cell.status == "done" and cell.measurement is not None:
        return cell
    return cell.error or why


def _ended(state: str) -> Failure:
    if state == "interrupted":
        return Failure.of(
            WrongState("The server stopped before it was measured", fix="Ask again when it is back")
        )
    return Failure.of(Cancelled("Somebody cancelled it", fix="Ask again"))
