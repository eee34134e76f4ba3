"""All repositories of a database."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from modeldyno.core.runs import RunKind
from modeldyno.store.database import Database
from modeldyno.store.records.benchmarks import BenchmarkRecords
from modeldyno.store.records.comparisons import ComparisonRecords
from modeldyno.store.records.datasets import DatasetRecords
from modeldyno.store.records.events import EventRecords
from modeldyno.store.records.jobs import JobRecords
from modeldyno.store.records.leases import CoreLeaseRecords
from modeldyno.store.records.models import ModelRecords
from modeldyno.store.records.notes import NoteRecords
from modeldyno.store.records.optimizations import OptimizationRecords
from modeldyno.store.records.pins import PinRecords
from modeldyno.store.records.profiles import ProfileRecords
from modeldyno.store.records.projects import ProjectRecords
from modeldyno.store.records.repeated_requests import AnswerRecords
from modeldyno.store.records.rows import Clock, utc_now
from modeldyno.store.records.runs import RunRecords
from modeldyno.store.runnables import RunnableRecords


@dataclass(frozen=True)
class Records:
    database: Database
    projects: ProjectRecords
    models: ModelRecords
    datasets: DatasetRecords
    benchmarks: BenchmarkRecords
    comparisons: ComparisonRecords
    optimizations: OptimizationRecords
    profiles: ProfileRecords
    runs: RunRecords
    jobs: JobRecords
    leases: CoreLeaseRecords
    notes: NoteRecords
    pins: PinRecords
    events: EventRecords
    answers: AnswerRecords
    clock: Clock

    def of_kind(self, kind: RunKind) -> RunnableRecords[Any, Any]:
        """The runnables of this kind; one without a repository of its own has a plain one."""
        own = (self.benchmarks, self.comparisons, self.optimizations, self.profiles)
        for runnables in own:
            if runnables.kind == kind:
                return runnables
        return RunnableRecords(self.database, self.clock, kind)

    def close(self) -> None:
        self.database.close()


def open_all_records(database: Database, clock: Clock = utc_now) -> Records:
    return Records(
        database,
        ProjectRecords(database, clock),
        ModelRecords(database, clock),
        DatasetRecords(database, clock),
        BenchmarkRecords(database, clock),
        ComparisonRecords(database, clock),
        OptimizationRecords(database, clock),
        ProfileRecords(database, clock),
        RunRecords(database, clock),
        JobRecords(database, clock),
        CoreLeaseRecords(database, clock),
        NoteRecords(database, clock),
        PinRecords(database, clock),
        EventRecords(database),
        AnswerRecords(database, clock),
        clock,
    )
