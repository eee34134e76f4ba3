"""Settings → store + jobs + services; the only place that picks implementations."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from modeldyno.jobs.leases import FOLDER, Leases
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
    from collections.abc import Callable, Iterator
    from contextlib import ExitStack
    from pathlib import Path

    from modeldyno.jobs.supervisor import Supervisor
    from modeldyno.services.archive import Archive
    from modeldyno.services.benchmark_by_name import BenchmarkByName
    from modeldyno.services.benchmarks import BenchmarkService
    from modeldyno.services.comparisons import ComparisonService
    from modeldyno.services.conversions import ConversionService
    from modeldyno.services.datasets import DatasetService
    from modeldyno.services.demo_project import DemoProject
    from modeldyno.services.distributions import DistributionService
    from modeldyno.services.doctor import DoctorService
    from modeldyno.services.event_feed import EventFeed
    from modeldyno.services.example_fetches import ExampleFetches
    from modeldyno.services.example_projects import ExampleProjects
    from modeldyno.services.examples import ExampleService
    from modeldyno.services.exports import ExportService
    from modeldyno.services.file_browser import FileBrowser
    from modeldyno.services.file_inspections import FileInspections
    from modeldyno.services.inferences import InferenceService
    from modeldyno.services.jobs import JobService
    from modeldyno.services.judgements import JudgementService
    from modeldyno.services.model_files import ModelFiles
    from modeldyno.services.models import ModelService
    from modeldyno.services.optimizations import OptimizationService
    from modeldyno.services.profiles import ProfileService
    from modeldyno.services.progress import LiveProgress
    from modeldyno.services.project_overview import ProjectOverviewService
    from modeldyno.services.projects import ProjectService
    from modeldyno.services.run_end_callbacks import RunEndCallbacks
    from modeldyno.services.system import SystemService
    from modeldyno.services.workloads import WorkloadService
    from modeldyno.store.indexing import RunIndex
    from modeldyno.store.records.all import Records
    from modeldyno.store.server_lock import ServerLock
    from modeldyno.store.upgrades import UpgradeProgress

# Files that are read beside each other: one that takes a minute does not hold up the others.
READERS = 4


@dataclass(frozen=True)
class Workbench:
    runs: RunFolders
    service: RunService
    trust: TrustService
    graphs: GraphService


@dataclass(frozen=True, slots=True)
class Lifetime:
    """Starts and stops what works in the background, in this order."""

    starting: tuple[Callable[[], object], ...]
    stopping: tuple[Callable[[], bool | None], ...]  # False: it is still at work
    held: ExitStack  # the database, and the locks that make the workspace ours

    def start(self) -> None:
        for start in self.starting:
            start()

    def close(self) -> None:
        """What runs is stopped and can be resumed; what waits, waits for the next server."""
        has_ended = [stop() is not False for stop in self.stopping]
        if all(has_ended):  # else the workspace stays ours until the process ends: it may write
            self.held.close()


@dataclass(frozen=True, slots=True)
class Assets:
    """What measurements are made of."""

    projects: ProjectService
    models: ModelService
    files: ModelFiles
    file_inspections: FileInspections
    inferences: InferenceService
    conversions: ConversionService
    browsing: FileBrowser
    examples: ExampleService
    fetches: ExampleFetches
    datasets: DatasetService


@dataclass(frozen=True, slots=True)
class Kinds:
    """What can be run."""

    benchmarks: BenchmarkService
    comparisons: ComparisonService
    optimizations: OptimizationService
    profiles: ProfileService


@dataclass(frozen=True, slots=True)
class Scenarios:
    """Requests that make several things at once."""

    by_name: BenchmarkByName
    workloads: WorkloadService
    example_projects: ExampleProjects
    demo: DemoProject


@dataclass(frozen=True, slots=True)
class Results:
    """What finished runs say."""

    exports: ExportService
    judgements: JudgementService
    distributions: DistributionService
    standings: ProjectOverviewService


@dataclass(frozen=True, slots=True)
class Activity:
    """What happens now, and whom it is told to."""

    queue: Supervisor
    progress: LiveProgress
    feed: EventFeed
    ends: RunEndCallbacks


@dataclass(frozen=True, slots=True)
class Server:
    """A workspace that is ours alone. Each route takes the services it uses (``api/app.py``)."""

    settings: Settings
    lock: ServerLock
    lifetime: Lifetime
    records: Records
    history: History
    folders: RunFolders
    archive: Archive
    jobs: JobService
    assets: Assets
    kinds: Kinds
    scenarios: Scenarios
    results: Results
    activity: Activity
    system: SystemService


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
    """What the server knows. Made or migrated where needed (``upgrading`` reports the steps); the
    terminal's runs are in it."""
    # Apart, so that a benchmark in the terminal does not load a database first.
    from modeldyno.store.database import open_database
    from modeldyno.store.indexing import RunIndex
    from modeldyno.store.records.all import records_of

    database = open_database(settings.workspace, settings.database_url, upgrading=upgrading)
    RunIndex(database, open_history(settings)).refresh()
    return records_of(database)


@contextmanager
def open_index(settings: Settings) -> Iterator[RunIndex]:
    """For who compares rows with folders: nothing is read into the database yet."""
    from modeldyno.store.database import open_database
    from modeldyno.store.indexing import RunIndex

    database = open_database(settings.workspace, settings.database_url)
    try:
        yield RunIndex(database, open_history(settings))
    finally:
        database.close()


def open_archive(settings: Settings, *, needs_database: bool = False) -> Archive:
    """Without a database where nobody has made one, unless one is needed."""
    from modeldyno.services.archive import Archive

    is_wanted = needs_database or settings.has_database
    records = open_records(settings) if is_wanted else None
    return Archive(open_history(settings), RunFolders(settings.workspace / "runs"), records)


def open_doctor(settings: Settings) -> DoctorService:
    # Apart, so that a benchmark does not load the doctor first.
    from modeldyno.services.doctor import DoctorService

    leases = Leases()
    return DoctorService(LocalJobs(leases), leases, settings.workspace, settings.machine)


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


def open_server(
    settings: Settings,
    *,
    cores: Path = FOLDER,
    job_limit_s: float = 2 * 3600.0,
    upgrading: UpgradeProgress | None = None,
) -> Server:
    """The workspace and its database, ours alone, with everything of an earlier server settled.

    ``upgrading`` reports the steps of an upgrade, if an earlier version wrote the database.
    ``cores`` is where CPU cores are locked: one place for the whole machine. A job may take
    ``job_limit_s``, waiting for cores not counted. Raises ServerRunning when another server has
    workspace or database.
    """
    from contextlib import ExitStack
    from functools import partial

    from modeldyno.jobs.job_endings import JobEndings
    from modeldyno.jobs.latest_writes import LatestWrites
    from modeldyno.jobs.shown_leases import ShownLeases
    from modeldyno.jobs.supervisor import Supervisor
    from modeldyno.services.archive import Archive
    from modeldyno.services.baselines import Baselines
    from modeldyno.services.benchmark_by_name import BenchmarkByName
    from modeldyno.services.benchmarks import BenchmarkService
    from modeldyno.services.cleanup_thread import CleanupThread
    from modeldyno.services.comparisons import ComparisonService
    from modeldyno.services.conversions import ConversionService
    from modeldyno.services.datasets import DatasetService
    from modeldyno.services.demo_project import DemoProject
    from modeldyno.services.distributions import DistributionService
    from modeldyno.services.event_feed import EventFeed
    from modeldyno.services.example_fetches import ExampleFetches
    from modeldyno.services.example_projects import ExampleProjects
    from modeldyno.services.exports import ExportService
    from modeldyno.services.file_browser import FileBrowser
    from modeldyno.services.file_inspections import FileInspections
    from modeldyno.services.folder_watch import FolderWatch
    from modeldyno.services.inferences import InferenceService
    from modeldyno.services.jobs import JobService
    from modeldyno.services.judgements import JudgementService
    from modeldyno.services.model_files import ModelFiles
    from modeldyno.services.models import ModelService
    from modeldyno.services.optimizations import OptimizationService
    from modeldyno.services.profiles import ProfileService
    from modeldyno.services.progress import LiveProgress
    from modeldyno.services.project_overview import ProjectOverviewService
    from modeldyno.services.projects import ProjectService
    from modeldyno.services.run_end_callbacks import RunEndCallbacks
    from modeldyno.services.run_hosts import RunHosts
    from modeldyno.services.system import SystemService
    from modeldyno.services.workloads import WorkloadService
    from modeldyno.store import peaks as stored_peaks
    from modeldyno.store.bundles import Bundles
    from modeldyno.store.content import StoredContent
    from modeldyno.store.named_models import NamedModels
    from modeldyno.store.objects import Objects
    from modeldyno.store.rebuilding import Rebuilding
    from modeldyno.store.roots import Roots
    from modeldyno.store.server_lock import ServerLock, SoleServer

    with ExitStack() as held:
        lock = held.enter_context(ServerLock(settings.workspace).held())
        records = open_records(settings, upgrading)
        held.callback(records.close)
        sole = held.enter_context(SoleServer(records.database).held())
        history, folders = open_history(settings), RunFolders(settings.workspace / "runs")
        objects = Objects(settings.workspace / "objects")
        bundles = Bundles(settings.workspace / "models", objects)
        content = StoredContent(objects, bundles)
        readers = LocalJobs(at_once=READERS, content=content)
        looking = open_workbench(settings, readers)
        trust = Trust(settings.workspace / "trust.json")
        models = ModelService(records, trust, looking.graphs)
        named = NamedModels(settings.workspace)
        roots = Roots((*settings.models_roots, *named.make_folders()))
        examples = open_examples(settings)
        files = ModelFiles(records, objects, bundles, roots, looking.service, examples.kept)
        progress = LiveProgress()
        endings = JobEndings(records, folders, history, resumes=settings.resume)
        endings.recover()
        writes = LatestWrites()
        leases = ShownLeases(records.leases, records.jobs, writes, cores)
        queue = Supervisor(
            records,
            folders,
            endings,
            LocalJobs(leases, folders=folders, machine=settings.machine, content=content),
            leases,
            writes,
            progress.hear,
            models.admit,
            sole.confirm,
            job_limit_s,
            settings.workspace / "queue-paused",
        )
        jobs = JobService(records, history, queue, progress, leases)
        hosts, peaks_of = RunHosts(history), partial(stored_peaks.load, settings.workspace)
        archive = Archive(history, folders, records)
        exports = ExportService(records, history, folders, peaks_of)
        benchmarks = BenchmarkService(records, models, jobs, Baselines(hosts))
        kinds = Kinds(
            benchmarks,
            ComparisonService(records, models, jobs),
            OptimizationService(records, models, jobs),
            ProfileService(records, models, jobs, hosts, peaks_of),
        )
        assets = Assets(
            projects=ProjectService(records, files, models, jobs, archive),
            models=models,
            files=files,
            file_inspections=FileInspections(records, files, models),
            inferences=InferenceService(models, LocalJobs(content=content)),
            conversions=ConversionService(
                records, models, files, LocalJobs(Leases(cores), content=content)
            ),
            browsing=FileBrowser(roots),
            examples=examples,
            fetches=ExampleFetches(records, examples, files),
            datasets=DatasetService(records, settings.workspace / "custom_datasets"),
        )
        scenarios = Scenarios(
            by_name=BenchmarkByName(records, named, files, models, benchmarks, jobs, history),
            workloads=WorkloadService(
                records, files, benchmarks, jobs, history, roots, settings.workspace / "workloads"
            ),
            example_projects=ExampleProjects(records, examples, files, benchmarks),
            demo=DemoProject(
                settings.workspace,
                records,
                files,
                benchmarks,
                kinds.comparisons,
                kinds.profiles,
            ),
        )
        activity = Activity(
            queue, progress, EventFeed(records.database, records.events), RunEndCallbacks()
        )
        feed, sweeping = activity.feed, CleanupThread(files.sweep)
        watch = FolderWatch(records, history, settings.workspace / "runs")
        rebuilding = Rebuilding(records.database, history)
        feed.on_event(sweeping.hear)
        feed.on_event(activity.ends.hear)
        return Server(
            settings=settings,
            lock=lock,
            records=records,
            history=history,
            folders=folders,
            archive=archive,
            jobs=jobs,
            assets=assets,
            kinds=kinds,
            scenarios=scenarios,
            results=Results(
                exports,
                JudgementService(records, exports),
                DistributionService(records, history, folders),
                ProjectOverviewService(records, models),
            ),
            activity=activity,
            system=SystemService(settings, records, open_doctor(settings)),
            # Last: from here on closing is the caller's.
            lifetime=Lifetime(
                starting=(
                    feed.start,
                    sweeping.start,
                    watch.start,
                    queue.start,
                    rebuilding.start,
                    assets.projects.forget_drafts,
                ),
                stopping=(
                    readers.cancel_all,
                    queue.close,
                    rebuilding.stop,
                    watch.close,
                    assets.file_inspections.close,
                    assets.fetches.close,
                    assets.conversions.close,
                    scenarios.example_projects.close,
                    feed.close,
                    sweeping.close,
                ),
                held=held.pop_all(),
            ),
        )
