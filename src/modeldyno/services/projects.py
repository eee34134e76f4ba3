"""Projects: made with a model or not at all, and deleted with everything in them."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from modeldyno.core.benchmarks import BenchmarkOutcome
from modeldyno.core.datasets import Dataset, NewDataset
from modeldyno.core.errors import BaselineNoisy, NotFound, WrongState
from modeldyno.core.graphs import Graph
from modeldyno.core.ids import BenchmarkId, ProjectId
from modeldyno.core.jobs import Job
from modeldyno.core.models import Model, NewModel
from modeldyno.core.names import checked_name
from modeldyno.core.notes import Subject
from modeldyno.core.projects import Project
from modeldyno.core.specs import ModelSpec
from modeldyno.services.archive import Archive
from modeldyno.services.graph_boundaries import make_boundary
from modeldyno.services.jobs import JobService
from modeldyno.services.model_files import ModelFiles
from modeldyno.services.models import ModelService
from modeldyno.store.records.all import Records

INPUT_MODEL = "Input model"  # what a project began with is called so
STOPPING_S = 30.0  # what runs ends within two seconds of being cancelled, unless the disk is slow
_LOOK_S = 0.05
DRAFT_S = 86_400.0  # a day: long enough to find the weights that are missing


@dataclass(frozen=True, kw_only=True)
class NewProject:
    """A project with its first model; what is None is read from the model."""

    name: str
    path: str  # of the model's file, below an allowed folder
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    domain: str | None = None
    precision: str | None = None
    shapes: tuple[tuple[int, ...], ...] = ()  # of the inputs, without the batch


@dataclass(frozen=True)
class CreatedProject:
    project: Project
    model: Model
    dataset: Dataset | None  # of made-up samples, when shapes were given


@dataclass(frozen=True)
class ProjectDetails:
    project: Project
    notes: str | None  # None: none were written
    model: Model | None  # that it began with


class ProjectService:
    def __init__(
        self,
        records: Records,
        files: ModelFiles,
        models: ModelService,
        jobs: JobService,
        archive: Archive,
    ) -> None:
        self._records = records
        self._files = files
        self._models = models
        self._jobs = jobs
        self._archive = archive

    def create(self, wanted: NewProject) -> CreatedProject:
        """All of it, or nothing: a model that cannot be read leaves no project behind.

        Raises PathRefused, FileNotFound, what reading the model raises, and BadValue for nodes that
        it cannot begin or end at.
        """
        checked_name(wanted.name)
        prepared = self._files.prepare(wanted.path)
        new = prepared.new
        boundary = make_boundary(
            wanted.inputs, wanted.outputs, wanted.shapes, new, lambda: self._read_graph(new)
        )
        with self._records.database.writing():
            project = self._records.projects.add(wanted.name)
            model = prepared.add(
                project_id=project.id,
                name=INPUT_MODEL,
                boundary=boundary,
                domain=new.domain if wanted.domain is None else wanted.domain,
                precision=new.precision if wanted.precision is None else wanted.precision,
            )
            dataset = self._add_dummy_dataset(project.id, wanted.shapes) if wanted.shapes else None
        return CreatedProject(project, model, dataset)

    def get(self, project_id: ProjectId) -> ProjectDetails:
        """Raises NotFound."""
        project = self._records.projects.get(project_id)
        note = self._records.notes.get(Subject("project", project_id))
        model = self._records.models.find_first_input(project_id)
        return ProjectDetails(project, note.text if note.version else None, model)

    def set_baseline(
        self, project_id: ProjectId, benchmark_id: BenchmarkId | None, *, accept_noisy: bool = False
    ) -> Project:
        """What the others are held against; None: nothing. Raises BadValue for one of another
        project, WrongState for one that was not measured, and BaselineNoisy for one whose numbers
        are not sure."""
        with self._records.database.writing():  # all of it, or nothing
            project = self._records.projects.set_baseline(project_id, benchmark_id)
            if benchmark_id is not None:
                outcome = self._records.benchmarks.outcome(benchmark_id)
                measured = outcome.measured
                cells = self._records.runs.cells(measured.id) if measured else ()
                _require_sure_numbers(outcome, cells, accept_noisy)
            return project

    def forget_drafts(self, after_s: float = DRAFT_S) -> None:
        """Those that were abandoned, and all that is in them."""
        for draft in self._records.projects.drafts(datetime.now(UTC) - timedelta(seconds=after_s)):
            with suppress(WrongState), self._archive.translated_deletion():
                self._records.projects.delete(draft.id, cascade=True)

    def write_notes(self, project_id: ProjectId, text: str) -> str:
        """Whatever stood there before; raises NotFound."""
        with self._records.database.writing():
            self._records.projects.mark_as_used(project_id)
            return self._records.notes.write(Subject("project", project_id), text).text

    def delete(self, project_id: ProjectId, name: str) -> bool:
        """With everything in it, after what waits or runs was cancelled and has ended. False, and
        nothing happens, unless the project is called so.

        Raises WrongState when something of it is measured in a terminal, or does not stop.
        """
        if not self._is_called(project_id, name):
            return False
        deadline = time.monotonic() + STOPPING_S
        while True:
            active = self._list_active_jobs(project_id)
            for job in active:
                self._jobs.cancel(job.id)
            try:
                with self._archive.translated_deletion():
                    if not self._is_called(project_id, name):
                        return False
                    self._records.projects.delete(project_id, cascade=True)
                    return True
            except WrongState:
                if not active or time.monotonic() > deadline:
                    raise
            time.sleep(_LOOK_S)

    def _is_called(self, project_id: ProjectId, name: str) -> bool:
        try:
            return self._records.projects.get(project_id).name == name
        except NotFound:
            return False

    def _list_active_jobs(self, project_id: ProjectId) -> list[Job]:
        queue = (*self._records.jobs.waiting(), *self._records.jobs.running())
        return [job for job in queue if job.project_id == project_id]

    def _read_graph(self, new: NewModel) -> Graph:
        return self._models.graph_of(ModelSpec(new.path, sha256=new.sha256), new.name)

    def _add_dummy_dataset(
        self, project_id: ProjectId, shapes: tuple[tuple[int, ...], ...]
    ) -> Dataset:
        parameters = {"input_shape": [[*shape] for shape in shapes], "label_shape": [1]}
        return self._records.datasets.add(
            NewDataset(project_id=project_id, name="dummy", kind="dummy_v2", parameters=parameters)
        )


def _require_sure_numbers(
    outcome: BenchmarkOutcome, documents: Sequence[str], accept_noisy: bool
) -> None:
    """``documents`` of its cells, as JSON."""
    cells = [cell for cell in outcome.cells if cell.typical_s is not None]
    if not cells:
        raise WrongState(
            f"Benchmark {outcome.benchmark.id} cannot be a baseline",
            why="it has no number yet",
            fix="Run it first",
        )
    noisy = next((cell for cell in cells if cell.noise not in (None, "quiet")), None)
    if noisy is not None and not accept_noisy:
        reasons = json.loads(documents[noisy.number])["noise_reasons"]
        raise BaselineNoisy(
            f"Benchmark {outcome.benchmark.id} is {noisy.noise}",
            why=f"cell {noisy.number}: {reasons[0]}" if reasons else "",
            fix="Measure it again on a calmer machine, or accept it as it is (accept_noisy)",
        )
