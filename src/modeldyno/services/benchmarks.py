"""Benchmarks of projects: plan, create, run and change them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from modeldyno.core.benchmarks import (
    Benchmark,
    BenchmarkDetails,
    BenchmarkOutcome,
    BenchmarkRow,
    Mode,
)
from modeldyno.core.datasets import DatasetSpec
from modeldyno.core.ids import BenchmarkId, DatasetId, ModelId, ProjectId
from modeldyno.core.jobs import Job
from modeldyno.core.models import Model
from modeldyno.core.requests.commands import bench_command
from modeldyno.core.runs import ListQuery, Page
from modeldyno.core.specs import BenchmarkSpec, CellSpec, RunSpec
from modeldyno.jobs.benchmark import fitting_cells
from modeldyno.jobs.rounds import expected_s
from modeldyno.measure.cpus import allowed_cpus
from modeldyno.services.baselines import Baselines
from modeldyno.services.jobs import JobService
from modeldyno.services.models import ModelService
from modeldyno.services.requests import require_cores
from modeldyno.services.runnables import RunnableService, pin_models_to_content
from modeldyno.store.documents import planned_cells_json
from modeldyno.store.history import History
from modeldyno.store.records.all import Records

UNNAMED = DatasetSpec(name="", kind="")  # for accuracy without a dataset

MakeSpec = Callable[[str], BenchmarkSpec]  # from where the model is read


@dataclass(frozen=True)
class Plan:
    """What a benchmark would do."""

    spec: BenchmarkSpec
    cells: tuple[CellSpec, ...]  # those that this model has
    about_s: float | None  # None: unknown, if the number of calls is fixed
    cores: int  # the most that are used at once
    threads: int  # may be more than cores
    command: str


class BenchmarkService(RunnableService[BenchmarkId, Benchmark]):
    kind = "benchmark"

    def __init__(
        self,
        records: Records,
        models: ModelService,
        jobs: JobService,
        baselines: Baselines,
        history: History,
    ) -> None:
        super().__init__(records, models, jobs)
        self._history = history
        self.compare_to_baseline = baselines.compare_to_baseline

    def plan(self, model_id: ModelId, make_spec: MakeSpec) -> Plan:
        """Stores and runs nothing."""
        model = self._models.require_runnable(model_id)
        spec = make_spec(model.path)
        cells = spec.configurations()
        if model.facts is not None:
            cells = tuple(cell.spec for cell in fitting_cells(spec, model.facts))
        threads = max(cell.cores * cell.instances for cell in cells)
        return Plan(
            spec=spec,
            cells=cells,
            about_s=expected_s(spec, cells) if spec.iterations is None else None,
            cores=min(threads, len(allowed_cpus())),
            threads=threads,
            command=bench_command(spec, model.name),
        )

    def create(
        self,
        project_id: ProjectId,
        model_id: ModelId,
        name: str,
        make_spec: MakeSpec,
        *,
        dataset_id: DatasetId | None = None,
        mode: Mode = "performance",
        start: bool = False,
    ) -> tuple[Benchmark, Job | None]:
        def make(model: Model) -> BenchmarkSpec:
            return self._with_dataset(make_spec(model.path), mode, dataset_id)

        extra = {"mode": mode, "dataset_id": dataset_id}
        return self.add(project_id, [model_id], name, make, start=start, **extra)

    def details(self, number: BenchmarkId) -> BenchmarkDetails:
        """Without results, its cells are those of the latest run as soon as its model was read."""
        details: BenchmarkDetails = super().details(number)
        if details.cells.figures or details.latest is None:
            return details
        cells = self._history.folder(details.latest.id).cells()
        if not cells:
            return details
        return replace(details, cells=replace(details.cells, documents=planned_cells_json(cells)))

    def outcome(self, benchmark_id: BenchmarkId) -> BenchmarkOutcome:
        return self._records.benchmarks.outcome(benchmark_id)

    def outcomes(self, project_id: ProjectId) -> list[BenchmarkOutcome]:
        """All of a project, oldest first; none if the project does not exist."""
        return self._records.benchmarks.outcomes(project_id)

    def page(self, wanted: ListQuery, *, with_cells: bool = False) -> Page[BenchmarkRow]:
        return self._records.benchmarks.page(wanted, with_cells=with_cells)

    def edit(
        self,
        benchmark_id: BenchmarkId,
        *,
        name: str | None = None,
        dataset_id: DatasetId | None = None,
        mode: Mode | None = None,
        make_spec: MakeSpec | None = None,
    ) -> Benchmark:
        """The name at any time, everything else only before the first run; raises WrongState."""
        with self._records.database.writing():
            before = self.get(benchmark_id)
            spec = None
            if make_spec is not None:
                models = self._require_runnable_models([before.model_id])
                spec = pin_models_to_content(make_spec(models[0].path), models)
            if mode is not None or (dataset_id is not None and before.mode == "accuracy"):
                spec = self._with_dataset(
                    spec or before.spec, mode or before.mode, dataset_id or before.dataset_id
                )
            return self.change(benchmark_id, name=name, mode=mode, dataset_id=dataset_id, spec=spec)

    def _with_dataset(
        self, spec: BenchmarkSpec, mode: Mode, dataset_id: DatasetId | None
    ) -> BenchmarkSpec:
        """Only accuracy needs a dataset."""
        if mode != "accuracy":
            return replace(spec, dataset=None)
        if dataset_id is None:
            return replace(spec, dataset=UNNAMED)
        return replace(spec, dataset=self._records.datasets.get(dataset_id).spec())

    def _run_spec(self, runnable: Benchmark, fits: bool) -> RunSpec:
        """Raises BadValue for more cores than there are, unless it ``fits``."""
        spec = super()._run_spec(runnable, fits)
        require_cores([cell.cores for cell in spec.configurations()])
        return spec
