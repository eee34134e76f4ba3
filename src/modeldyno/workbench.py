"""Settings → store, jobs and services; the only place that picks implementations.

``server.py`` adds what only a server has. Functions import what they open, so that a benchmark in
the terminal loads no more than it uses.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from modeldyno.jobs.leases import Leases
from modeldyno.jobs.local import LocalJobs
from modeldyno.services.graphs import GraphService
from modeldyno.services.runs import RunService
from modeldyno.services.trust import TrustService
from modeldyno.services.trusted_run_service import TrustedRunService
from modeldyno.settings import Settings
from modeldyno.store.graphs import Graphs
from modeldyno.store.history import History
from modeldyno.store.runs import RunFolders
from modeldyno.store.tokens import TokenFile
from modeldyno.store.trust import Trust

if TYPE_CHECKING:
    from collections.abc import Iterator

    from modeldyno.services.archive import Archive
    from modeldyno.services.doctor import DoctorService
    from modeldyno.services.examples import ExampleService
    from modeldyno.services.space import SpaceService
    from modeldyno.store.indexing import RunIndex
    from modeldyno.store.records.all import Records
    from modeldyno.store.upgrades import UpgradeProgress


@dataclass(frozen=True)
class Workbench:
    runs: RunFolders
    service: RunService
    trust: TrustService
    graphs: GraphService


def open_workbench(settings: Settings, jobs: LocalJobs | None = None) -> Workbench:
    runs = RunFolders(settings.workspace / "runs")
    trust = Trust(settings.workspace / "trust.json")
    jobs = jobs or LocalJobs(folders=runs, machine=settings.machine)
    service = (
        TrustedRunService(runs, jobs, trust) if settings.require_trust else RunService(runs, jobs)
    )
    graphs = GraphService(service, Graphs(settings.workspace / "graphs"))
    return Workbench(runs, service, TrustService(trust, service), graphs)


def open_history(settings: Settings) -> History:
    return History(settings.workspace / "runs")


def open_token(settings: Settings) -> TokenFile:
    return TokenFile(settings.workspace / "token")


def open_records(settings: Settings, upgrading: UpgradeProgress | None = None) -> Records:
    """The server's database, created or migrated if needed (``upgrading`` reports the steps), with
    the terminal's runs indexed."""
    from modeldyno.store.database import open_database
    from modeldyno.store.indexing import RunIndex
    from modeldyno.store.records.all import open_all_records

    database = open_database(settings.workspace, settings.database_url, upgrading=upgrading)
    RunIndex(database, open_history(settings)).index_changed_runs()
    return open_all_records(database)


@contextmanager
def open_index(settings: Settings) -> Iterator[RunIndex]:
    """To compare rows with folders: the index is not refreshed yet."""
    from modeldyno.store.database import open_database
    from modeldyno.store.indexing import RunIndex

    database = open_database(settings.workspace, settings.database_url)
    try:
        yield RunIndex(database, open_history(settings))
    finally:
        database.close()


def open_archive(settings: Settings, *, needs_database: bool = False) -> Archive:
    """Without a database if none exists yet, unless one is needed."""
    from modeldyno.services.archive import Archive

    records = open_records(settings) if needs_database or settings.has_server_data else None
    return Archive(open_history(settings), RunFolders(settings.workspace / "runs"), records)


def open_space(settings: Settings) -> SpaceService:
    from modeldyno.services.space import SpaceService

    return SpaceService(
        settings.workspace,
        settings.engines or settings.workspace / "engines",
        open_history(settings),
        RunFolders(settings.workspace / "runs"),
        partial(open_archive, settings),
    )


def open_doctor(settings: Settings) -> DoctorService:
    from modeldyno.services.doctor import DoctorService

    leases = Leases()
    return DoctorService(LocalJobs(leases), leases, settings.workspace, settings.machine)


def open_examples(settings: Settings) -> ExampleService:
    from modeldyno.services.examples import ExampleService
    from modeldyno.store.downloads import Downloads
    from modeldyno.store.examples import list_download_hosts, read_catalogue
    from modeldyno.store.objects import Objects
    from modeldyno.store.transfers import Network

    return ExampleService(
        read_catalogue(),
        Objects(settings.workspace / "objects"),
        Downloads(settings.workspace / "downloads", Network(list_download_hosts())),
        allow_downloads=settings.allow_downloads,
    )
