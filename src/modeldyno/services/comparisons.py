"""Comparisons of projects: two models or settings, measured against each other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from modeldyno.core.comparisons import Comparison, ComparisonDetails, NewComparison
from modeldyno.core.ids import ComparisonId, ModelId, ProjectId
from modeldyno.core.models import Model
from modeldyno.core.pages import Page, Wanted
from modeldyno.core.queue import Job
from modeldyno.core.runs import RunOf
from modeldyno.core.specs import ComparisonSpec, SideSpec
from modeldyno.engines.run_names import comparison_name
from modeldyno.services.boundaries import bounded, of_content
from modeldyno.services.confined import confined_cell, expect_confined
from modeldyno.services.jobs import JobService
from modeldyno.services.models import ModelService
from modeldyno.store.records.all import Records

MakeSpec = Callable[[Model, Model], ComparisonSpec]


class ComparisonService:
    def __init__(self, records: Records, models: ModelService, jobs: JobService) -> None:
        self._records = records
        self._models = models
        self._jobs = jobs

    def create(
        self,
        project_id: ProjectId,
        a_model_id: ModelId,
        b_model_id: ModelId,
        name: str,
        make_spec: MakeSpec,
        *,
        start: bool = False,
    ) -> tuple[Comparison, Job | None]:
        """Both or neither: a comparison that was to be started is in the queue, or not there."""
        a, b = self._models.runnable(a_model_id), self._models.runnable(b_model_id)
        spec = _of_content(make_spec(a, b), a, b)
        new = NewComparison(
            project_id=project_id,
            a_model_id=a_model_id,
            b_model_id=b_model_id,
            name=name or comparison_name(a.name, b.name, spec),
            spec=spec,
        )
        with self._records.database.writing():
            made = self._records.comparisons.add(new)
            job = self.start(made.id) if start else None
            return self._records.comparisons.get(made.id), job

    def get(self, comparison_id: ComparisonId) -> Comparison:
        return self._records.comparisons.get(comparison_id)

    def details(self, comparison_id: ComparisonId) -> ComparisonDetails:
        return self._records.comparisons.details(comparison_id)

    def page(self, wanted: Wanted) -> Page[Comparison]:
        return self._records.comparisons.page(wanted)

    def start(self, comparison_id: ComparisonId, priority: int = 0) -> Job:
        """One more run of it, in the queue."""
        found = self._records.comparisons.get(comparison_id)
        expect_confined(found.spec.a.cell, found.spec.b.cell)
        a, b = self._models.runnable(found.a_model_id), self._models.runnable(found.b_model_id)
        spec = _of_content(found.spec, a, b)
        return self._jobs.start(RunOf("comparison", comparison_id), spec, priority)

    def rerun(self, comparison_id: ComparisonId) -> tuple[Comparison, Job]:
        """A new one with the same settings, which knows what it repeats."""
        with self._records.database.writing():
            again = self._records.comparisons.rerun(comparison_id)
            spec = replace(again.spec, a=_confined(again.spec.a), b=_confined(again.spec.b))
            if spec != again.spec:
                self._records.comparisons.edit(again.id, spec=spec)
            job = self.start(again.id)
            return self._records.comparisons.get(again.id), job

    def rename(self, comparison_id: ComparisonId, name: str | None) -> Comparison:
        return self._records.comparisons.edit(comparison_id, name=name)

    def edit(
        self,
        comparison_id: ComparisonId,
        a_model_id: ModelId,
        b_model_id: ModelId,
        make_spec: MakeSpec,
        name: str | None = None,
    ) -> Comparison:
        """Before the first run; raises WrongState."""
        a, b = self._models.runnable(a_model_id), self._models.runnable(b_model_id)
        return self._records.comparisons.edit(
            comparison_id,
            name=name,
            a_model_id=a_model_id,
            b_model_id=b_model_id,
            spec=_of_content(make_spec(a, b), a, b),
        )

    def delete(self, comparison_id: ComparisonId, *, cascade: bool = False) -> None:
        self._records.comparisons.delete(comparison_id, cascade=cascade)


def _confined(side: SideSpec) -> SideSpec:
    return replace(side, cell=confined_cell(side.cell))


def _of_content(spec: ComparisonSpec, a: Model, b: Model) -> ComparisonSpec:
    return replace(spec, a=_side(spec.a, a), b=_side(spec.b, b))


def _side(side: SideSpec, model: Model) -> SideSpec:
    return replace(side, cell=bounded(side.cell, model), model=of_content(side.model, model))
