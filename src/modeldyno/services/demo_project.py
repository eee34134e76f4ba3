"""The project that a new workspace begins with: a small model, and what it costs here."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from modeldyno.core.errors import WorkspaceUnusable
from modeldyno.core.ids import ModelId, ProjectId
from modeldyno.core.models import Model, ModelFacts, NewModel
from modeldyno.core.projects import Project
from modeldyno.core.specs import QUICK, BenchmarkSpec
from modeldyno.demo import model_path
from modeldyno.measure.cpus import allowed_cpus
from modeldyno.services.benchmarks import BenchmarkService
from modeldyno.services.requests import CellOptions, InputOptions, benchmark_spec, inspection_spec
from modeldyno.services.runs import RunService
from modeldyno.store.records.all import Records

NAME = "Demo"
MARKER = "demo-made"  # a file of the workspace: who deleted the project does not want it back


class DemoProject:
    def __init__(
        self,
        workspace: Path,
        records: Records,
        benchmarks: BenchmarkService,
        looking: RunService,
        model: Callable[[], Path] = model_path,
    ) -> None:
        self._marker = workspace / MARKER
        self._records = records
        self._benchmarks = benchmarks
        self._looking = looking
        self._model = model

    def make_once(self) -> Project | None:
        """Made, and its benchmarks in the queue; None when this workspace has had it before."""
        if self._marker.exists():
            return None
        facts = self._looking.run(inspection_spec(self._model()))
        assert isinstance(facts, ModelFacts)
        # First the marker: a crash in between costs a demo, the other way round it makes two.
        self._mark()
        with self._records.database.writing():
            project = self._records.projects.add(NAME)
            model = self._add_model(project.id, facts)
            self._add_benchmark(project.id, model.id)
        return project

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

    def _add_model(self, project_id: ProjectId, facts: ModelFacts) -> Model:
        new = NewModel(
            project_id=project_id,
            name="digits.onnx",
            path=facts.path,
            format=facts.format,
            sha256=facts.sha256,
            size_bytes=facts.size_bytes,
            framework=facts.framework,
            domain="Image Recognition",
            origin="example",
            source="the package",
            facts=facts,
        )
        return self._records.models.add(new)

    def _add_benchmark(self, project_id: ProjectId, model_id: ModelId) -> None:
        cores = sorted({1, min(2, len(allowed_cpus()))})

        def spec(path: str) -> BenchmarkSpec:
            cells = CellOptions(batch=[1, 8], cores=cores)
            return benchmark_spec(path, cells, InputOptions(), budget=QUICK)

        self._benchmarks.create(
            project_id, model_id, "Handwritten digits, one image and eight", spec, start=True
        )
