"""What every kind of runnable of a project has in common: add it, change it, run it, repeat it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Generic, TypeVar

from modeldyno.core.ids import ModelId, ProjectId
from modeldyno.core.jobs import Job
from modeldyno.core.models import Model
from modeldyno.core.runs import ListQuery, Page, RunKind, RunOf
from modeldyno.core.specs import CellSpec, RunSpec
from modeldyno.engines.run_names import run_name
from modeldyno.measure.cpus import allowed_cpus
from modeldyno.services.boundaries import pinned_to, with_boundary
from modeldyno.services.jobs import JobService
from modeldyno.services.models import ModelService
from modeldyno.services.sandbox_rules import confined_cell, require_sandboxed
from modeldyno.store.kinds import KINDS
from modeldyno.store.records.all import Records

Number = TypeVar("Number", bound=int)
Value = TypeVar("Value")  # a benchmark, a comparison and so on, as core has it
Spec = TypeVar("Spec", bound=RunSpec)
MakeSpec = Callable[..., RunSpec]  # from its models


class RunnableService(Generic[Number, Value]):
    kind: RunKind

    def __init__(
        self, records: Records, models: ModelService, jobs: JobService, kind: RunKind = ""
    ) -> None:
        self.kind = kind or self.kind
        self._records = records
        self._kept: Any = records.of_kind(self.kind)
        self._models = models
        self._jobs = jobs

    def get(self, number: Number) -> Value:
        found: Value = self._kept.get(number)
        return found

    def details(self, number: Number) -> Any:
        return self._kept.details(number)

    def all_details(self, project_id: ProjectId) -> list[Any]:
        """All of a project, oldest first; none of a project that is not there."""
        found: list[Any] = self._kept.all_details(project_id)
        return found

    def page(self, wanted: ListQuery) -> Page[Any]:
        found: Page[Any] = self._kept.page(wanted)
        return found

    def add(
        self,
        project_id: ProjectId,
        model_ids: Sequence[ModelId],
        name: str,
        make_spec: MakeSpec,
        *,
        start: bool = False,
        **own: Any,
    ) -> tuple[Value, Job | None]:
        """``own`` is what its kind keeps beside the spec. Without a name it goes by its models."""
        models = self._runnable(model_ids)
        spec = with_content(make_spec(*models), models)
        kind = KINDS[self.kind]
        new = kind.new(
            project_id=project_id,
            name=name or run_name(spec, [model.name for model in models]),
            **dict(zip(kind.model_links, model_ids, strict=True)),
            **kind.of_spec(spec),
            **own,
        )
        return self._add(new, start=start)

    def change(
        self,
        number: Number,
        *,
        name: str | None = None,
        model_ids: Sequence[ModelId] | None = None,
        make_spec: MakeSpec | None = None,
        **own: Any,
    ) -> Value:
        """The name at any time, all else before the first run; raises WrongState."""
        kind = KINDS[self.kind]
        with self._records.database.writing():
            if make_spec is not None:
                models = self._runnable(model_ids or self._model_ids(self.get(number)))
                own |= kind.of_spec(with_content(make_spec(*models), models))
            if model_ids is not None:
                own |= dict(zip(kind.model_links, model_ids, strict=True))
            edited: Value = self._kept.edit(number, name=name, **own)
            return edited

    def start(
        self,
        number: Number,
        priority: int = 0,
        request_id: str | None = None,
        *,
        fits: bool = False,
    ) -> Job:
        """One more run of it, in the queue; ``fits``: on no more cores than there are."""
        spec = self._ready(self.get(number), fits)
        return self._jobs.start(RunOf(self.kind, number), spec, priority, request_id)

    def delete(self, number: Number, *, cascade: bool = False) -> None:
        self._kept.delete(number, cascade=cascade)

    def _add(self, new: object, *, start: bool) -> tuple[Value, Job | None]:
        """Both or neither: what was to be started is in the queue, or not there."""
        with self._records.database.writing():
            made = self._kept.add(new)
            job = self.start(made.id) if start else None
            return self.get(made.id), job

    def rerun(self, number: Number) -> tuple[Value, Job]:
        """A new one with the same settings, which knows what it repeats."""
        with self._records.database.writing():
            again = self._kept.rerun(number)
            spec = again.spec.with_cells(lambda cell, _: confined_cell(cell))
            if spec != again.spec:
                self._kept.edit(again.id, **KINDS[self.kind].of_spec(spec))
            job = self.start(again.id)
            return self.get(again.id), job

    def _ready(self, runnable: Any, fits: bool) -> RunSpec:
        """What is run: its spec, with its models as they are now."""
        spec: RunSpec = runnable.spec
        require_sandboxed(*spec.configurations())
        spec = with_content(spec, self._runnable(self._model_ids(runnable)))
        return spec.with_cells(_fitted) if fits else spec

    def _runnable(self, model_ids: Sequence[ModelId]) -> list[Model]:
        """Raises NotFound, and whatever keeps one of them from being run."""
        return [self._models.runnable(number) for number in model_ids]

    def _model_ids(self, runnable: Any) -> list[ModelId]:
        return [getattr(runnable, field) for field in KINDS[self.kind].model_links]


def with_content(spec: Spec, models: Sequence[Model]) -> Spec:
    """``models`` in the order of the spec's own; raises BadValue for what they cannot do."""
    spec = spec.with_cells(lambda cell, side: with_boundary(cell, models[side]))
    return spec.with_models(lambda model, side: pinned_to(model, models[side]))


def _fitted(cell: CellSpec, _: int) -> CellSpec:
    """Cores first: fewer instances say the same of each, fewer cores do not."""
    available = len(allowed_cpus())
    cores = min(cell.cores, available)
    return replace(cell, cores=cores, instances=max(1, min(cell.instances, available // cores)))
