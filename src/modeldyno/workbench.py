"""Settings → store + jobs + services; the only place that picks implementations."""

from __future__ import annotations

from dataclasses import dataclass

from modeldyno.jobs.local import LocalJobs
from modeldyno.services.runs import RunService
from modeldyno.services.trust import TrustService
from modeldyno.settings import Settings
from modeldyno.store.runs import Runs
from modeldyno.store.trust import Trust


@dataclass(frozen=True)
class Workbench:
    runs: Runs
    service: RunService
    trust: TrustService


def open_workbench(settings: Settings) -> Workbench:
    runs = Runs(settings.workspace / "runs")
    service = RunService(runs, LocalJobs())
    return Workbench(runs, service, TrustService(Trust(settings.workspace / "trust.json"), service))
