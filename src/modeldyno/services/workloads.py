"""Measure one or two models for a client of 1.9: a project, models, benchmarks and jobs at once.

Each call is a small file until its end was sent, so that a server that is started again knows whose
runs wait in its queue.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Literal

from modeldyno.core.codec import decode, encode
from modeldyno.core.errors import ModeldynoError, NotFound
from modeldyno.core.ids import BenchmarkId, ModelId, ProjectId, RunId, new_run_id
from modeldyno.core.models import Model
from modeldyno.core.names import name_of_file
from modeldyno.core.requests.measuring import BenchmarkRequest
from modeldyno.core.runs import ACTIVE, RunState
from modeldyno.core.specs import BenchmarkSpec
from modeldyno.measure.cpus import allowed_cpus
from modeldyno.services.benchmarks import BenchmarkService
from modeldyno.services.jobs import JobService
from modeldyno.services.model_files import ModelFiles, PreparedModel
from modeldyno.services.requests import make_benchmark_spec
from modeldyno.store.configs import NAME as CONFIG
from modeldyno.store.configs import to_config_text
from modeldyno.store.history import History
from modeldyno.store.records.all import Records
from modeldyno.store.roots import Roots

logger = logging.getLogger(__name__)

Side = Literal["input_model", "optimized_model"]
Mode = Literal["performance", "accuracy"]

USUAL_CORES = 4  # of an instance; or as many as there are
MOST_LOG_BYTES = 16 << 20
LOG = "output.txt"
ELSEWHERE = (
    "workspace_path is not a writable folder below a --models-root: config and log are in"
    " the workspace of the server"
)
NAMES: dict[Side, str] = {"input_model": "Input model", "optimized_model": "Optimized model"}
_PREFIXES: dict[Side, str] = {"input_model": "", "optimized_model": "optimized_"}


@dataclass(frozen=True, kw_only=True)
class WorkloadModelRequest:
    side: Side
    path: str  # as the client gave it
    precision: str = ""
    modes: tuple[Mode, ...] = ("performance",)


@dataclass(frozen=True, kw_only=True)
class WorkloadModel:
    """One of the models, and what measures it; None where nothing is to be measured."""

    wanted: WorkloadModelRequest
    model_id: ModelId
    benchmark_id: BenchmarkId | None
    run_id: RunId | None


@dataclass(frozen=True, kw_only=True)
class Workload:
    id: str | int  # echoed; a client may use one twice
    name: str  # of our own file about it
    project_id: ProjectId
    parts: tuple[WorkloadModel, ...]
    folder: str | None  # where config and log are wanted; None: they are in the runs' own folders
    note: str = ""  # for its finish: why config and log are not where they were wanted
    is_started: bool = False  # and its client was told

    @property
    def run_ids(self) -> tuple[RunId, ...]:
        return tuple(part.run_id for part in self.parts if part.run_id is not None)

    @property
    def measurements(self) -> tuple[tuple[WorkloadModel, Mode], ...]:
        """In the order in which they are reported."""
        return tuple((part, mode) for part in self.parts for mode in part.wanted.modes)


class WorkloadService:
    """``folder`` keeps a file for each call that has not ended."""

    def __init__(
        self,
        records: Records,
        files: ModelFiles,
        benchmarks: BenchmarkService,
        jobs: JobService,
        history: History,
        roots: Roots,
        folder: Path,
    ) -> None:
        self._records = records
        self._files = files
        self._benchmarks = benchmarks
        self._jobs = jobs
        self._history = history
        self._roots = roots
        self._folder = folder

    def begin(
        self,
        id: str | int,
        models: Sequence[WorkloadModelRequest],
        workspace_path: str,
        remember: Callable[[Workload], None],
    ) -> Workload:
        """All of it or nothing; ``remember`` is called before any event of its runs is sent.

        Raises PathRefused, FileNotFound, and what reading a model raises.
        """
        prepared = [self._files.prepare(model.path) for model in models]
        folder, note = self._split_folder(workspace_path, models[0].path, id)
        name = new_run_id()
        try:
            with self._records.database.writing():
                project_id = self._find_or_add_project(str(id) or name_of_file(models[0].path))
                parts = tuple(
                    self._add_part(project_id, model, prepared_model)
                    for model, prepared_model in zip(models, prepared, strict=True)
                )
                made = Workload(
                    id=id,
                    name=name,
                    project_id=project_id,
                    parts=parts,
                    folder=folder,
                    note=note,
                )
                self.save(made)
                self._write_configs(made)
                remember(made)
        except BaseException:
            self._record_path(name).unlink(missing_ok=True)
            raise
        return made

    def save(self, workload: Workload) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        file = self._record_path(workload.name)
        waiting = file.with_suffix(".new")
        waiting.write_text(json.dumps(encode(workload)))
        waiting.replace(file)

    def load_unfinished(self) -> list[Workload]:
        """Of an earlier server; one that cannot be read is left out, and said."""
        unfinished = []
        for file in sorted(self._folder.glob("*.json")):
            try:
                unfinished.append(decode(Workload, json.loads(file.read_text())))
            except (OSError, ValueError, KeyError, TypeError):
                logger.exception("%s cannot be read", file.name)
        return unfinished

    def forget(self, workload: Workload) -> None:
        with suppress(OSError):
            self._record_path(workload.name).unlink(missing_ok=True)

    def states(self, workload: Workload) -> dict[str, RunState]:
        """Of its runs; one that was deleted was cancelled before."""
        states: dict[str, RunState] = {}
        for run_id in workload.run_ids:
            try:
                states[run_id] = self._records.runs.get(run_id).state
            except NotFound:
                states[run_id] = "cancelled"
        return states

    def stop(self, workload: Workload) -> None:
        """What has not ended of it; what was measured stays."""
        for run_id in workload.run_ids:
            job = self._records.jobs.find_of_run(run_id)
            if job is not None and job.state in ACTIVE:
                self._jobs.cancel(job.id)

    def config_path(self, workload: Workload, part: WorkloadModel) -> str:
        return self._path_of_file(workload, part, CONFIG, CONFIG)

    def write_log(self, workload: Workload, part: WorkloadModel) -> None:
        """Where the client wants it, if anywhere else than where it is."""
        if workload.folder is None or part.run_id is None:
            return
        try:
            with self._history.folder(part.run_id).log.open("rb") as log:
                content = log.read(MOST_LOG_BYTES)
            self._write_file(workload, part, LOG, content)
        except (OSError, ModeldynoError) as error:
            logger.warning("run %s: its log is only in its own folder: %s", part.run_id, error)

    # ------------------------------------------------------------ inside

    def _find_or_add_project(self, name: str) -> ProjectId:
        known = self._records.projects.named(name)
        return known.id if known else self._records.projects.add(name).id

    def _add_part(
        self, project_id: ProjectId, wanted: WorkloadModelRequest, prepared: PreparedModel
    ) -> WorkloadModel:
        model = self._add_or_find_model(project_id, wanted, prepared)
        if "performance" not in wanted.modes:
            return WorkloadModel(wanted=wanted, model_id=model.id, benchmark_id=None, run_id=None)
        made, job = self._benchmarks.create(
            project_id, model.id, NAMES[wanted.side], _make_benchmark_spec, start=True
        )
        assert job is not None
        return WorkloadModel(
            wanted=wanted, model_id=model.id, benchmark_id=made.id, run_id=job.run_id
        )

    def _add_or_find_model(
        self, project_id: ProjectId, wanted: WorkloadModelRequest, prepared: PreparedModel
    ) -> Model:
        known = self._records.models.find_by_content(project_id, prepared.new.sha256 or "")
        if known is not None:
            return known
        precision = wanted.precision or prepared.new.precision
        return prepared.add(project_id=project_id, name=NAMES[wanted.side], precision=precision)

    def _split_folder(self, path: str, model: str, id: str | int) -> tuple[str | None, str]:
        """None: the client wants none, or one where we may not write; and then a note for it."""
        if not path:
            return None, ""
        try:
            with self._roots.folder(path) as (_, place):
                name = f"{_to_plain_name(PurePosixPath(model).stem)}_{_to_plain_name(str(id))}"
                return f"{place}/workloads/{name}", ""
        except ModeldynoError as error:
            logger.info("config and log stay in the workspace: %s", error)
            return None, ELSEWHERE

    def _write_configs(self, workload: Workload) -> None:
        if workload.folder is None:
            return
        for part in workload.parts:
            if part.run_id is not None:
                spec = decode(BenchmarkSpec, self._records.runs.get(part.run_id).spec)
                self._write_file(workload, part, CONFIG, to_config_text(spec).encode())

    def _write_file(
        self, workload: Workload, part: WorkloadModel, name: str, content: bytes
    ) -> None:
        assert workload.folder is not None
        base, _, inner = workload.folder.rpartition("/workloads/")
        names = ("workloads", inner, f"{_PREFIXES[part.wanted.side]}{name}")
        with self._roots.folder(base) as (folder, _):
            self._roots.write(folder, names, content)

    def _path_of_file(self, workload: Workload, part: WorkloadModel, name: str, own: str) -> str:
        if workload.folder is not None:
            return f"{workload.folder}/{_PREFIXES[part.wanted.side]}{name}"
        if part.run_id is None:
            return ""
        return str(self._history.folder(part.run_id).path / own)

    def _record_path(self, name: str) -> Path:
        return self._folder / f"{name}.json"


def _make_benchmark_spec(path: str) -> BenchmarkSpec:
    available = len(allowed_cpus())
    cores = min(USUAL_CORES, available)
    instances = max(1, available // cores)
    request = BenchmarkRequest(cores=(cores,), instances=(instances,), budget="quick")
    return make_benchmark_spec(request, path)


def _to_plain_name(text: str) -> str:
    """Of letters that are safe in the name of a folder."""
    return re.sub(r"[^A-Za-z0-9._-]", "_", text).lstrip(".")[:80] or "_"
