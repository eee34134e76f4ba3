"""Optimizations of projects: asked for, changed until they run, run, and spoken for by pins."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from modeldyno.core.dictionaries import ONNXRT, PYTORCH, TENSORFLOW, Numbered, framework_of
from modeldyno.core.errors import BadValue
from modeldyno.core.ids import BenchmarkId, DatasetId, ModelId, OptimizationId, ProjectId
from modeldyno.core.models import Boundary, TensorSpec
from modeldyno.core.optimization_settings import (
    OptimizationType,
    require_fitting_precision,
    require_possible,
    type_for,
)
from modeldyno.core.optimizations import (
    NewOptimization,
    Optimization,
    OptimizationDetails,
    Pin,
    PinKind,
    Trial,
)
from modeldyno.core.runs import ListQuery, Page
from modeldyno.core.specs import OptimizationSpec
from modeldyno.services.model_files import pinned_spec
from modeldyno.services.requests import default_memory_limit
from modeldyno.services.runnables import RunnableService

# As INC's own files name them.
_FRAMEWORKS: dict[Numbered, str] = {
    TENSORFLOW: "tensorflow",
    ONNXRT: "onnxrt_qlinearops",
    PYTORCH: "pytorch",
}


class OptimizationService(RunnableService[OptimizationId, Optimization]):
    kind = "optimization"

    def create(
        self,
        project_id: ProjectId,
        name: str,
        type: OptimizationType,
        precision: str,
        *,
        dataset_id: DatasetId | None = None,
        model_id: ModelId | None = None,
        settings: dict[str, Any] | None = None,
    ) -> Optimization:
        """Of the project's first model where none is named. Raises BadValue for what does not fit
        together: it would only fail later."""
        require_fitting_precision(type, precision)
        require_possible(settings or {})
        with self._records.database.writing():
            return self._records.optimizations.add(
                NewOptimization(
                    project_id=project_id,
                    model_id=model_id or self._require_first_model(project_id),
                    name=name,
                    type=type,
                    precision=precision,
                    dataset_id=dataset_id,
                    settings=settings or {},
                )
            )

    def details(self, number: OptimizationId) -> OptimizationDetails:
        return self._records.optimizations.details(number)

    def page(self, wanted: ListQuery) -> Page[OptimizationDetails]:
        return self._records.optimizations.read_details_page(wanted)

    def trials(self, optimization: OptimizationDetails) -> tuple[Trial, ...]:
        """Of its latest run."""
        return (
            self._records.optimizations.trials(optimization.latest.id)
            if optimization.latest
            else ()
        )

    def edit(
        self,
        number: OptimizationId,
        *,
        name: str | None = None,
        type: OptimizationType | None = None,
        precision: str | None = None,
        dataset_id: DatasetId | None = None,
        settings: dict[str, Any] | None = None,
    ) -> Optimization:
        """What is not given stays. A precision that its type cannot make changes the type, unless
        one is named. Raises WrongState once it has run (a name may change still)."""
        with self._records.database.writing():
            before = self._records.optimizations.get(number)
            if precision is not None and type is None:
                type = type_for(precision, before.type)
            require_fitting_precision(type or before.type, precision or before.precision)
            require_possible(before.settings | (settings or {}))
            return self._records.optimizations.edit(
                number,
                name=name,
                type=type if type != before.type else None,
                precision=precision,
                dataset_id=dataset_id,
                settings=settings,
            )

    def pin(self, number: OptimizationId, kind: PinKind, benchmark_id: BenchmarkId) -> Pin:
        """Raises BadValue when it measures another model, or something else."""
        return self._records.pins.put(Pin(number, kind, benchmark_id))

    def unpin(self, number: OptimizationId, kind: PinKind) -> bool:
        return self._records.pins.remove(number, kind)

    def _require_first_model(self, project_id: ProjectId) -> ModelId:
        self._records.projects.get(project_id)  # raises NotFound
        first = ListQuery(project_id=project_id, descending=False, limit=1)
        for model in self._records.models.page(first).items:
            return model.id
        raise BadValue(
            "This project has no model", why="there is nothing to optimize", fix="Add one first"
        )

    def _run_spec(self, optimization: Optimization, fits: bool) -> OptimizationSpec:
        model = self._models.require_runnable(optimization.model_id)
        number = optimization.dataset_id
        dataset = self._records.datasets.get(number) if number is not None else None
        boundary = model.boundary or Boundary()
        facts = model.facts
        return OptimizationSpec(
            model=pinned_spec(model),
            type=optimization.type,
            precision=optimization.precision,
            settings=optimization.tuning,
            dataset=dataset.spec() if dataset else None,
            name=model.name,
            framework=_FRAMEWORKS.get(framework_of(model.format, model.framework), ""),
            inputs=boundary.inputs or _tensor_names(facts.inputs if facts else ()),
            outputs=boundary.outputs or _tensor_names(facts.outputs if facts else ()),
            memory_limit_bytes=default_memory_limit(),
        )


def _tensor_names(ends: Iterable[TensorSpec]) -> tuple[str, ...]:
    return tuple(tensor.name for tensor in ends)
