"""The project that a new workspace begins with: a small model, and what it costs here."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from modeldyno.core.errors import WorkspaceUnusable
from modeldyno.core.ids import ModelId, ProjectId
from modeldyno.core.models import Model
from modeldyno.core.projects import Project
from modeldyno.core.specs import QUICK, BenchmarkSpec, ComparisonSpec, SideSpec
from modeldyno.demo import model_path
from modeldyno.measure.cpus import allowed_cpus
from modeldyno.services.benchmarks import BenchmarkService
from modeldyno.services.comparisons import ComparisonService
from modeldyno.services.model_files import ModelFiles, PreparedModel
from modeldyno.services.requests import (
    CellOptions,
    InputOptions,
    benchmark_spec,
    comparison_between,
    side_spec,
)
from modeldyno.store.records.all import Records

NAME = "Demo"
MARKER = "demo-made"  # a file of the workspace: who deleted the project does not want it back


class DemoProject:
    def __init__(
        self,
        workspace: Path,
        records: Records,
        files: ModelFiles,
        benchmarks: BenchmarkService,
        comparisons: ComparisonService,
        model: Callable[[], Path] = model_path,
    ) -> None:
        self._marker = workspace / MARKER
        self._records = records
        self._files = files
        self._benchmarks = benchmarks
        self._comparisons = comparisons
        self._model = model

    def make_once(self) -> Project | None:
        """Made, and its benchmark in the queue; None when this workspace has had it before."""
        if self._marker.exists():
            return None
        return self.prepared()()

    def prepared(self) -> Callable[[], Project]:
        """One more, because somebody asks for it: its model is read now, and the project made with
        all that belongs to it when what is returned is called."""
        model = self._prepared_model()

        def make() -> Project:
            # First the marker: a crash in between costs a demo, the other way round it makes two.
            self._mark()
            with self._records.database.writing():
                project = self._records.projects.add(NAME)
                added = model.add(project_id=project.id)
                self._add_benchmark(project.id, added.id)
                self._add_comparison(project.id, added.id)
            return project

        return make

    def _mark(self) -> None:
        try:
            self._marker.touch()
            descriptor = os.open(self._marker.parent, os.O_RDONLY | os.O_DIRECTORY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
        except OSError as error:
            raise WorkspaceUnusable(
                "Cannot write to the workspace", why=error.strerror or str(error)
            ) from error

    def _prepared_model(self) -> PreparedModel:
        path = self._model()
        with path.open("rb") as file, self._files.receiving(path.stat().st_size) as incoming:
            incoming.copy(file.fileno())
            return self._files.prepared_received(path.name, incoming, "example")

    def _add_benchmark(self, project_id: ProjectId, model_id: ModelId) -> None:
        cores = sorted({1, min(2, len(allowed_cpus()))})

        def spec(path: str) -> BenchmarkSpec:
            cells = CellOptions(batch=[1, 8], cores=cores)
            return benchmark_spec(path, cells, InputOptions(), budget=QUICK)

        name = "Handwritten digits: batches and cores"
        self._benchmarks.create(project_id, model_id, name, spec, start=True)

    def _add_comparison(self, project_id: ProjectId, model_id: ModelId) -> None:
        def side(model: Model, batch: int) -> SideSpec:
            label = f"{model.name}@batch={batch}"
            return side_spec(label, model.path, CellOptions(batch=[batch]), InputOptions())

        def spec(a: Model, b: Model) -> ComparisonSpec:
            return comparison_between(side(a, 1), side(b, 8), budget=QUICK)

        name = "One image at a time, or eight"
        self._comparisons.create(project_id, model_id, model_id, name, spec, start=True)
