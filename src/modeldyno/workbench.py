"""Settings → store + jobs + services; the only place that picks implementations."""

from __future__ import annotations

from dataclasses import dataclass

from modeldyno.jobs.leases import Leases
from modeldyno.jobs.local import LocalJobs
from modeldyno.services.runs import RunService
from modeldyno.settings import Settings
from modeldyno.store.runs import Runs


@dataclass(frozen=True)
class Workbench:
    runs: Runs
    service: RunService


def open_workbench(settings: Settings) -> Workbench:
    runs = Runs(settings.workspace / "runs")
    return Workbench(runs, RunService(runs, LocalJobs(Leases())))
