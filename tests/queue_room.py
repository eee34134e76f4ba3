"""A server without its web side: real database, real workers, a scripted engine."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from modeldyno.core.benchmarks import NewBenchmark, NewComparison
from modeldyno.core.ids import JobId, ProjectId
from modeldyno.core.jobs import Job
from modeldyno.core.models import ModelFacts, NewModel
from modeldyno.core.runs import RunOf
from modeldyno.core.specs import (
    BenchmarkSpec,
    Budget,
    CellSpec,
    ComparisonSpec,
    ModelSpec,
    SideSpec,
)
from modeldyno.server import Server, open_server
from modeldyno.services.jobs import JobStatus
from modeldyno.settings import Settings
from modeldyno.store.runs import RunFolder
from tests.processes import living, until
from tests.scripts import script

# As many short sessions as there is time for; somebody has to stop it.
ENDLESS = Budget("custom", 3600.0, 1, 100_000, 0.01, 4, None, None)


class QueueRoom:
    """``folder`` is for models and for the machine's cores; the workspace is in ``settings``."""

    def __init__(self, folder: Path, settings: Settings) -> None:
        self.folder = folder
        self.settings = settings
        self.cores = folder / "cores"  # a machine of our own: other tests use the real one
        self.server: Server
        self._numbers = itertools.count()

    @contextmanager
    def opened(self, **more: Any) -> Iterator[Server]:
        """A server at work; it is closed at the end."""
        self.server = open_server(self.settings, cores=self.cores, **more)
        self.server.lifetime.start()
        try:
            yield self.server
        finally:
            self.server.lifetime.close()

    # ------------------------------------------------------------ jobs

    def model(self, **said: Any) -> ModelSpec:
        path = script(self.folder / f"m{next(self._numbers)}.json", **said)
        return ModelSpec(str(path), sha256=hashlib.sha256(path.read_bytes()).hexdigest())

    def short(self, **said: Any) -> BenchmarkSpec:
        """One session of three calls."""
        return BenchmarkSpec(self.model(**said), (CellSpec(engine="scripted"),), iterations=3)

    def endless(self, **said: Any) -> BenchmarkSpec:
        return replace(self.short(**said), iterations=None, budget=ENDLESS)

    def comparison(self, pairs: int) -> ComparisonSpec:
        side = SideSpec("m", self.model(), CellSpec(engine="scripted"))
        return ComparisonSpec(side, side, pairs=pairs, processes=3, pair_s=0.01)

    def add(self, spec: BenchmarkSpec | ComparisonSpec, project: ProjectId | None = None) -> RunOf:
        """Something to run, of a project of its own unless one is given."""
        records = self.server.records
        project = project or records.projects.add("p").id
        first = spec.model if isinstance(spec, BenchmarkSpec) else spec.a.model
        model = records.models.add(_model(project, first)).id
        if isinstance(spec, BenchmarkSpec):
            made = NewBenchmark(project_id=project, model_id=model, name="b", spec=spec)
            return RunOf("benchmark", records.benchmarks.add(made).id)
        pair = NewComparison(
            project_id=project, a_model_id=model, b_model_id=model, name="c", spec=spec
        )
        return RunOf("comparison", records.comparisons.add(pair).id)

    def start(self, spec: BenchmarkSpec | ComparisonSpec, **more: Any) -> Job:
        return self.server.jobs.start(self.add(spec), spec, **more)

    def status(self, job_id: JobId) -> JobStatus:
        return self.server.jobs.get(job_id)

    def job(self, job_id: JobId) -> Job:
        return self.server.records.jobs.get(job_id)

    # ------------------------------------------------------------ what comes of them

    def until_state(self, job_id: JobId, *states: str) -> Job:
        """Or fail at once, when it has ended in another."""

        def is_over() -> bool:
            return self.job(job_id).state in {*states, "done", "failed", "cancelled", "interrupted"}

        until(is_over, f"job {job_id} to be {states}")
        found = self.job(job_id)
        assert found.state in states, found
        return found

    def until_units(self, job: Job, count: int = 1) -> None:
        until(lambda: self.units(job) >= count, f"{count} units")

    def units(self, job: Job) -> int:
        return self.server.history.units_kept(job.run_id)

    def run_folder(self, job: Job) -> RunFolder:
        return self.server.history.folder(job.run_id)

    def is_tidy(self, job: Job) -> bool:
        """No process, no scratch, no lease and no lock is left."""
        folder = self.run_folder(job)
        left = [path for path in (folder.scratch, folder.model) if path.exists()]
        return not left and not living(folder.path) and not self.server.records.leases.held()


def _model(project: ProjectId, spec: ModelSpec) -> NewModel:
    """As it is once somebody has looked into it."""
    sha256 = spec.sha256 or ""
    facts = ModelFacts(spec.path, "scripted", "scripted", sha256, 1, 0, (), ())
    return NewModel(
        project_id=project, name="m", path=spec.path, sha256=sha256 or None, facts=facts
    )
