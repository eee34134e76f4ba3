"""Settings → store + jobs + services; the only place that picks implementations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from modeldyno.jobs.leases import Leases
from modeldyno.jobs.local import LocalJobs
from modeldyno.services.graphs import GraphService
from modeldyno.services.runs import RunService
from modeldyno.services.trust import TrustService
from modeldyno.services.vouched import VouchedRuns
from modeldyno.settings import Settings
from modeldyno.store.graphs import Graphs
from modeldyno.store.history import History
from modeldyno.store.runs import Runs
from modeldyno.store.trust import Trust

if TYPE_CHECKING:
    from modeldyno.services.doctor import DoctorService
    from modeldyno.services.examples import ExampleService
    from modeldyno.store.records.all import Records


@dataclass(frozen=True)
class Workbench:
    runs: Runs
    service: RunService
    trust: TrustService
    graphs: GraphService


def open_workbench(settings: Settings) -> Workbench:
    runs = Runs(settings.workspace / "runs")
    trust = Trust(settings.workspace / "trust.json")
    jobs = LocalJobs()
    service = VouchedRuns(runs, jobs, trust) if settings.require_trust else RunService(runs, jobs)
    graphs = GraphService(service, Graphs(settings.workspace / "graphs"))
    return Workbench(runs, service, TrustService(trust, service), graphs)


def open_history(settings: Settings) -> History:
    return History(settings.workspace / "runs")


def open_records(settings: Settings) -> Records:
    """What the server knows. Made or migrated where needed; the terminal's runs are in it."""
    # Apart, so that a benchmark in the terminal does not load a database first.
    from modeldyno.store.database import open_database
    from modeldyno.store.indexing import RunIndex
    from modeldyno.store.records.all import records_of

    database = open_database(settings.workspace, settings.database_url)
    RunIndex(database, open_history(settings)).refresh()
    return records_of(database)


def open_doctor(settings: Settings) -> DoctorService:
    # Apart, so that a benchmark does not load the doctor first.
    from modeldyno.services.doctor import DoctorService

    leases = Leases()
    return DoctorService(LocalJobs(leases), leases, settings.workspace)


def open_examples(settings: Settings) -> ExampleService:
    # Apart, so that a benchmark loads neither a catalogue nor what downloads need.
    from modeldyno.services.examples import ExampleService
    from modeldyno.store.downloads import Downloads
    from modeldyno.store.examples import catalogue, hosts
    from modeldyno.store.objects import Objects
    from modeldyno.store.transfers import Ways

    return ExampleService(
        catalogue(),
        Objects(settings.workspace / "objects"),
        Downloads(settings.workspace / "downloads", Ways(hosts())),
        allow_downloads=settings.allow_downloads,
    )
