"""What every kind of runnable of a project has in common: add it, run it, repeat it, delete it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar, Generic, TypeVar

from modeldyno.core.ids import ModelId
from modeldyno.core.models import Model
from modeldyno.core.queue import Job
from modeldyno.core.runs import RunKind, RunOf
from modeldyno.core.specs import CellSpec, RunSpec
from modeldyno.measure.cpus import allowed_cpus
from modeldyno.services.boundaries import bounded, of_content
from modeldyno.services.confined import confined_cell, expect_confined
from modeldyno.services.jobs import JobService
from modeldyno.services.models import ModelService
from modeldyno.store.records.all import Records

Number = TypeVar("Number", bound=int)
Value = TypeVar("Value")  # a benchmark, a comparison and so on, as core has it
Spec = TypeVar("Spec", bound=RunSpec)


class RunnableService(Generic[Number, Value]):
    kind: ClassVar[RunKind]

    def __init__(self, records: Records, models: ModelService, jobs: JobService) -> None:
        self._records = records
        self._kept: Any = getattr(records, f"{self.kind}s")  # the repository of its kind
        self._models = models
        self._jobs = jobs

    def get(self, number: Number) -> Value:
        found: Value = self._kept.get(number)
        return found

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
                self._kept.edit(again.id, spec=spec)
            job = self.start(again.id)
            return self.get(again.id), job

    def _ready(self, runnable: Any, fits: bool) -> RunSpec:
        """What is run: its spec, with its models as they are now."""
        spec: RunSpec = runnable.spec
        expect_confined(*spec.configurations())
        models = [self._models.runnable(number) for number in self._model_ids(runnable)]
        spec = with_content(spec, models)
        return spec.with_cells(_fitted) if fits else spec

    def _model_ids(self, runnable: Any) -> tuple[ModelId, ...]:
        return (runnable.model_id,)


def with_content(spec: Spec, models: Sequence[Model]) -> Spec:
    """``models`` in the order of the spec's own; raises BadValue for what they cannot do."""
    spec = spec.with_cells(lambda cell, side: bounded(cell, models[side]))
    return spec.with_models(lambda model, side: of_content(model, models[side]))


def _fitted(cell: CellSpec, _: int) -> CellSpec:
    """Cores first: fewer instances say the same of each, fewer cores do not."""
    available = len(allowed_cpus())
    cores = min(cell.cores, available)
    return replace(cell, cores=cores, instances=max(1, min(cell.instances, available // cores)))
