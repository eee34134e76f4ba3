"""Settings → store + jobs + services; the only place that picks implementations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from modeldyno.jobs.leases import Leases
from modeldyno.jobs.local import LocalJobs
from modeldyno.services.runs import RunService
from modeldyno.settings import Settings
from modeldyno.store.runs import Runs

if TYPE_CHECKING:
    from modeldyno.services.doctor import DoctorService


@dataclass(frozen=True)
class Workbench:
    runs: Runs
    service: RunService


def open_workbench(settings: Settings) -> Workbench:
    runs = Runs(settings.workspace / "runs")
    return Workbench(runs, RunService(runs, LocalJobs()))


def open_doctor(settings: Settings) -> DoctorService:
    # Apart, so that a benchmark does not load the doctor first.
    from modeldyno.services.doctor import DoctorService

    leases = Leases()
    return DoctorService(LocalJobs(leases), leases, settings.workspace)
