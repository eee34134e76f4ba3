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
    from contextlib import ExitStack

    from modeldyno.jobs.supervisor import Supervisor
    from modeldyno.services.benchmarks import BenchmarkService
    from modeldyno.services.comparisons import ComparisonService
    from modeldyno.services.doctor import DoctorService
    from modeldyno.services.event_feed import EventFeed
    from modeldyno.services.examples import ExampleService
    from modeldyno.services.exports import ExportService
    from modeldyno.services.fetches import Fetches
    from modeldyno.services.jobs import JobService
    from modeldyno.services.model_files import ModelFiles
    from modeldyno.services.models import ModelService
    from modeldyno.services.progress import LiveProgress
    from modeldyno.services.sweeping import Sweeping
    from modeldyno.services.system import SystemService
    from modeldyno.store.records.all import Records
    from modeldyno.store.server_lock import ServerLock


@dataclass(frozen=True)
class Workbench:
    runs: Runs
    service: RunService
    trust: TrustService
    graphs: GraphService


@dataclass(frozen=True)
class Server:
    """All that the routes need; started and closed with the application."""

    settings: Settings
    records: Records
    history: History
    folders: Runs
    lock: ServerLock
    queue: Supervisor
    progress: LiveProgress
    feed: EventFeed
    jobs: JobService
    models: ModelService
    files: ModelFiles
    examples: ExampleService
    fetches: Fetches
    sweeping: Sweeping
    benchmarks: BenchmarkService
    comparisons: ComparisonService
    exports: ExportService
    system: SystemService
    looking: Workbench  # inspects and reads graphs, beside whatever is measured
    held: ExitStack

    def start(self) -> None:
        self.feed.on_event(self.sweeping.hear)
        self.feed.start()
        self.sweeping.start()
        self.queue.start()

    def close(self) -> None:
        """What runs is stopped and can be resumed; what waits, waits for the next server."""
        self.queue.close()
        self.fetches.close()
        self.feed.close()
        self.sweeping.close()
        self.held.close()


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


def open_server(settings: Settings) -> Server:
    """The workspace and its database, ours alone, with everything of an earlier server settled.

    Raises ServerRunning when another server has them.
    """
    from contextlib import ExitStack

    from modeldyno.jobs.shown_leases import ShownLeases
    from modeldyno.jobs.supervisor import Supervisor
    from modeldyno.services.benchmarks import BenchmarkService
    from modeldyno.services.comparisons import ComparisonService
    from modeldyno.services.event_feed import EventFeed
    from modeldyno.services.exports import ExportService
    from modeldyno.services.fetches import Fetches
    from modeldyno.services.jobs import JobService
    from modeldyno.services.model_files import ModelFiles
    from modeldyno.services.models import ModelService
    from modeldyno.services.progress import LiveProgress
    from modeldyno.services.sweeping import Sweeping
    from modeldyno.services.system import SystemService
    from modeldyno.store.bundles import Bundles
    from modeldyno.store.indexing import sweep
    from modeldyno.store.objects import Objects
    from modeldyno.store.roots import Roots
    from modeldyno.store.server_lock import ServerLock, sole_server

    with ExitStack() as held:
        lock = held.enter_context(ServerLock(settings.workspace).held())
        records = open_records(settings)
        held.callback(records.close)
        held.enter_context(sole_server(records.database))
        history, folders = open_history(settings), Runs(settings.workspace / "runs")
        looking = open_workbench(settings)
        trust = Trust(settings.workspace / "trust.json")
        models = ModelService(records, trust, looking.graphs)
        objects = Objects(settings.workspace / "objects")
        bundles = Bundles(settings.workspace / "models", objects)
        roots = Roots(settings.models_roots)
        examples = open_examples(settings)
        files = ModelFiles(records, objects, bundles, roots, looking.service, examples.kept)
        progress = LiveProgress()
        leases = ShownLeases(records.leases)
        queue = Supervisor(
            records, folders, history, LocalJobs(leases), leases, progress.hear, models.admit
        )
        queue.recover()
        jobs = JobService(records, history, queue, progress)
        return Server(
            settings=settings,
            records=records,
            history=history,
            folders=folders,
            lock=lock,
            queue=queue,
            progress=progress,
            feed=EventFeed(records.database, records.events),
            jobs=jobs,
            models=models,
            files=files,
            examples=examples,
            fetches=Fetches(records, examples, files),
            sweeping=Sweeping(
                files.sweep, lambda: sweep(records.runs, settings.workspace / "runs")
            ),
            benchmarks=BenchmarkService(records, models, jobs),
            comparisons=ComparisonService(records, models, jobs),
            exports=ExportService(records, history, folders),
            system=SystemService(settings, records, open_doctor(settings)),
            looking=looking,
            held=held.pop_all(),
        )
