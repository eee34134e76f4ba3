"""Every repository of a database, put together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from modeldyno.core.runs import RunKind
from modeldyno.store.database import Database
from modeldyno.store.records.answers import Answers
from modeldyno.store.records.benchmarks import Benchmarks
from modeldyno.store.records.comparisons import Comparisons
from modeldyno.store.records.datasets import Datasets
from modeldyno.store.records.events import Events
from modeldyno.store.records.finding import Clock, utc_now
from modeldyno.store.records.jobs import Jobs
from modeldyno.store.records.leases import CoreLeases
from modeldyno.store.records.models import Models
from modeldyno.store.records.notes import Notes
from modeldyno.store.records.optimizations import Optimizations
from modeldyno.store.records.pins import Pins
from modeldyno.store.records.profiles import Profiles
from modeldyno.store.records.projects import Projects
from modeldyno.store.records.runs import Runs
from modeldyno.store.runnables import Runnables


@dataclass(frozen=True)
class Records:
    database: Database
    projects: Projects
    models: Models
    datasets: Datasets
    benchmarks: Benchmarks
    comparisons: Comparisons
    optimizations: Optimizations
    profiles: Profiles
    runs: Runs
    jobs: Jobs
    leases: CoreLeases
    notes: Notes
    pins: Pins
    events: Events
    answers: Answers
    clock: Clock

    def of_kind(self, kind: RunKind) -> Runnables[Any, Any]:
        """The repository of whatever can be run; a kind without one of its own has a plain one."""
        own: dict[str, Runnables[Any, Any]] = {
            runnables.kind: runnables
            for runnables in (
                self.benchmarks,
                self.comparisons,
                self.optimizations,
                self.profiles,
            )
        }
        return own.get(kind) or Runnables(self.database, self.clock, kind)

    def close(self) -> None:
        self.database.close()


def records_of(database: Database, clock: Clock = utc_now) -> Records:
    return Records(
        database,
        Projects(database, clock),
        Models(database, clock),
        Datasets(database, clock),
        Benchmarks(database, clock),
        Comparisons(database, clock),
        Optimizations(database, clock),
        Profiles(database, clock),
        Runs(database, clock),
        Jobs(database, clock),
        CoreLeases(database, clock),
        Notes(database, clock),
        Pins(database, clock),
        Events(database),
        Answers(database, clock),
        clock,
    )
