"""Comparisons of projects: two models or settings, measured against each other."""

from __future__ import annotations

from collections.abc import Callable

from modeldyno.core.comparisons import Comparison, ComparisonDetails, NewComparison
from modeldyno.core.ids import ComparisonId, ModelId, ProjectId
from modeldyno.core.models import Model
from modeldyno.core.pages import Page, Wanted
from modeldyno.core.queue import Job
from modeldyno.core.specs import ComparisonSpec
from modeldyno.engines.run_names import comparison_name
from modeldyno.services.runnables import RunnableService, with_content

MakeSpec = Callable[[Model, Model], ComparisonSpec]


class ComparisonService(RunnableService[ComparisonId, Comparison]):
    kind = "comparison"

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
        a, b = self._models.runnable(a_model_id), self._models.runnable(b_model_id)
        spec = with_content(make_spec(a, b), [a, b])
        new = NewComparison(
            project_id=project_id,
            a_model_id=a_model_id,
            b_model_id=b_model_id,
            name=name or comparison_name(a.name, b.name, spec),
            spec=spec,
        )
        return self._add(new, start=start)

    def details(self, comparison_id: ComparisonId) -> ComparisonDetails:
        return self._records.comparisons.details(comparison_id)

    def page(self, wanted: Wanted) -> Page[Comparison]:
        return self._records.comparisons.page(wanted)

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
            spec=with_content(make_spec(a, b), [a, b]),
        )

    def _model_ids(self, runnable: Comparison) -> tuple[ModelId, ...]:
        return runnable.a_model_id, runnable.b_model_id
