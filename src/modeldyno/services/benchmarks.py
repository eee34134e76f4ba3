"""Benchmarks of projects: ask for one, run it, run it again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from modeldyno.core.benchmarks import Benchmark, BenchmarkRow, NewBenchmark
from modeldyno.core.ids import BenchmarkId, DatasetId, ModelId, ProjectId
from modeldyno.core.pages import Page, Wanted
from modeldyno.core.queue import Job
from modeldyno.core.runs import RunOf
from modeldyno.core.specs import BenchmarkSpec
from modeldyno.services.jobs import JobService
from modeldyno.services.models import ModelService
from modeldyno.store.records.all import Records

MakeSpec = Callable[[str], BenchmarkSpec]  # from where the model is read


class BenchmarkService:
    def __init__(self, records: Records, models: ModelService, jobs: JobService) -> None:
        self._records = records
        self._models = models
        self._jobs = jobs

    def create(
        self,
        project_id: ProjectId,
        model_id: ModelId,
        name: str,
        make_spec: MakeSpec,
        *,
        dataset_id: DatasetId | None = None,
        start: bool = False,
    ) -> tuple[Benchmark, Job | None]:
        """Both or neither: a benchmark that was to be started is in the queue, or not there."""
        model = self._models.runnable(model_id)
        spec = make_spec(model.path)
        new = NewBenchmark(
            project_id=project_id,
            model_id=model_id,
            name=name or model.name,
            spec=replace(spec, model=replace(spec.model, sha256=model.sha256)),
            dataset_id=dataset_id,
        )
        with self._records.database.writing():
            made = self._records.benchmarks.add(new)
            job = self.start(made.id) if start else None
            return self._records.benchmarks.get(made.id), job

    def get(self, benchmark_id: BenchmarkId) -> Benchmark:
        return self._records.benchmarks.get(benchmark_id)

    def page(self, wanted: Wanted) -> Page[BenchmarkRow]:
        return self._records.benchmarks.page(wanted)

    def start(self, benchmark_id: BenchmarkId, priority: int = 0) -> Job:
        """One more run of it, in the queue."""
        benchmark = self._records.benchmarks.get(benchmark_id)
        self._models.runnable(benchmark.model_id)
        return self._jobs.start(RunOf("benchmark", benchmark_id), benchmark.spec, priority)

    def rerun(self, benchmark_id: BenchmarkId) -> tuple[Benchmark, Job]:
        """A new one with the same settings, which knows what it repeats."""
        with self._records.database.writing():
            again = self._records.benchmarks.rerun(benchmark_id)
            job = self.start(again.id)
            return self._records.benchmarks.get(again.id), job

    def rename(self, benchmark_id: BenchmarkId, name: str) -> Benchmark:
        return self._records.benchmarks.edit(benchmark_id, name=name)

    def delete(self, benchmark_id: BenchmarkId, *, cascade: bool = False) -> None:
        self._records.benchmarks.delete(benchmark_id, cascade=cascade)
