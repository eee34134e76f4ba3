"""What all kinds of runnables of a project have in common: add, change, run and repeat them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Generic, TypeVar

from modeldyno.core.benchmarks import Comparison
from modeldyno.core.errors import WrongState
from modeldyno.core.ids import ComparisonId, ModelId, ProjectId
from modeldyno.core.jobs import Job
from modeldyno.core.models import Model
from modeldyno.core.runs import ListQuery, Page, RunKind, RunOf
from modeldyno.core.specs import CellSpec, RunSpec
from modeldyno.engines.run_names import run_name
from modeldyno.measure.cpus import allowed_cpus
from modeldyno.services.graph_boundaries import pin_to_trusted_content, with_boundary
from modeldyno.services.jobs import JobService
from modeldyno.services.models import ModelService
from modeldyno.store.kinds import KINDS
from modeldyno.store.records.all import Records

Number = TypeVar("Number", bound=int)
Value = TypeVar("Value")  # core's value of a benchmark, a comparison and so on
Spec = TypeVar("Spec", bound=RunSpec)
MakeSpec = Callable[..., RunSpec]  # from its models


class RunnableService(Generic[Number, Value]):
    kind: RunKind

    def __init__(
        self, records: Records, models: ModelService, jobs: JobService, kind: RunKind = ""
    ) -> None:
        self.kind = kind or self.kind
        self._records = records
        self._rows: Any = records.of_kind(self.kind)
        self._models = models
        self._jobs = jobs

    def get(self, number: Number) -> Value:
        runnable: Value = self._rows.get(number)
        return runnable

    def details(self, number: Number) -> Any:
        return self._rows.details(number)

    def all_details(self, project_id: ProjectId) -> list[Any]:
        """All of a project, oldest first; none if the project does not exist."""
        details: list[Any] = self._rows.all_details(project_id)
        return details

    def page(self, wanted: ListQuery) -> Page[Any]:
        page: Page[Any] = self._rows.page(wanted)
        return page

    def add(
        self,
        project_id: ProjectId,
        model_ids: Sequence[ModelId],
        name: str,
        make_spec: MakeSpec,
        *,
        start: bool = False,
        **extra: Any,
    ) -> tuple[Value, Job | None]:
        """``extra`` are fields of its kind beside the spec. The name defaults to its models'."""
        models = self._require_runnable_models(model_ids)
        spec = pin_models_to_content(make_spec(*models), models)
        kind = KINDS[self.kind]
        new = kind.new(
            project_id=project_id,
            name=name or run_name(spec, [model.name for model in models]),
            **dict(zip(kind.model_links, model_ids, strict=True)),
            **kind.of_spec(spec),
            **extra,
        )
        return self._add(new, start=start)

    def change(
        self,
        number: Number,
        *,
        name: str | None = None,
        model_ids: Sequence[ModelId] | None = None,
        make_spec: MakeSpec | None = None,
        **extra: Any,
    ) -> Value:
        """The name at any time, everything else only before the first run; raises WrongState."""
        kind = KINDS[self.kind]
        with self._records.database.writing():
            if make_spec is not None:
                models = self._require_runnable_models(
                    model_ids or self._model_ids(self.get(number))
                )
                extra |= kind.of_spec(pin_models_to_content(make_spec(*models), models))
            if model_ids is not None:
                extra |= dict(zip(kind.model_links, model_ids, strict=True))
            edited: Value = self._rows.edit(number, name=name, **extra)
            return edited

    def start(
        self,
        number: Number,
        priority: int = 0,
        request_id: str | None = None,
        *,
        fits: bool = False,
    ) -> Job:
        """Queue another run of it; ``fits``: on no more cores than this machine has."""
        spec = self._run_spec(self.get(number), fits)
        return self._jobs.start(RunOf(self.kind, number), spec, priority, request_id)

    def delete(self, number: Number, *, cascade: bool = False) -> None:
        self._rows.delete(number, cascade=cascade)

    def _add(self, new: object, *, start: bool) -> tuple[Value, Job | None]:
        """Add it and queue its run, or do neither."""
        with self._records.database.writing():
            added = self._rows.add(new)
            job = self.start(added.id) if start else None
            return self.get(added.id), job

    def rerun(self, number: Number) -> tuple[Value, Job]:
        """A copy with the same settings that refers to the original, and its first job."""
        with self._records.database.writing():
            copy = self._rows.rerun(number)
            spec = copy.spec.with_cells(_with_required_sandbox)
            if spec != copy.spec:
                self._rows.edit(copy.id, **KINDS[self.kind].of_spec(spec))
            job = self.start(copy.id)
            return self.get(copy.id), job

    def _run_spec(self, runnable: Any, fits: bool) -> RunSpec:
        """Its spec, with its models as they are now."""
        spec: RunSpec = runnable.spec
        _require_sandboxed(spec)
        spec = pin_models_to_content(spec, self._require_runnable_models(self._model_ids(runnable)))
        return spec.with_cells(_with_fitting_cores) if fits else spec

    def _require_runnable_models(self, model_ids: Sequence[ModelId]) -> list[Model]:
        """Raises NotFound, and the reason if one of them may not run."""
        return [self._models.require_runnable(number) for number in model_ids]

    def _model_ids(self, runnable: Any) -> list[ModelId]:
        return [getattr(runnable, field) for field in KINDS[self.kind].model_links]


class ComparisonService(RunnableService[ComparisonId, Comparison]):
    kind = "comparison"


def _require_sandboxed(spec: RunSpec) -> None:
    if any(cell.sandbox == "off" for cell in spec.configurations()):
        raise WrongState(
            "This was measured without a sandbox, and the server never does that",
            why="anybody who reaches the server could let a model read your files",
            fix="Measure it again as a new one, in a sandbox, or in the terminal",
        )


def _with_required_sandbox(cell: CellSpec, _: int) -> CellSpec:
    return replace(cell, sandbox="on") if cell.sandbox == "off" else cell


def pin_models_to_content(spec: Spec, models: Sequence[Model]) -> Spec:
    """Pin a spec's models, given in its own order; raises BadValue for unsupported cells."""
    spec = spec.with_cells(lambda cell, side: with_boundary(cell, models[side]))
    return spec.with_models(lambda model, side: pin_to_trusted_content(model, models[side]))


def _with_fitting_cores(cell: CellSpec, _: int) -> CellSpec:
    """Fewer instances rather than fewer cores: that changes the result of each instance less."""
    available = len(allowed_cpus())
    cores = min(cell.cores, available)
    return replace(cell, cores=cores, instances=max(1, min(cell.instances, available // cores)))
