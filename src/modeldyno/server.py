"""Settings → the services of a server, which has its workspace and database to itself."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from modeldyno.jobs.job_endings import JobEndings
from modeldyno.jobs.latest_writes import LatestWrites
from modeldyno.jobs.leases import FOLDER, Leases
from modeldyno.jobs.local import LocalJobs
from modeldyno.jobs.server_leases import ServerLeases
from modeldyno.jobs.supervisor import Supervisor
from modeldyno.services.archive import Archive
from modeldyno.services.baselines import Baselines
from modeldyno.services.benchmark_by_name import BenchmarkByName
from modeldyno.services.benchmarks import BenchmarkService
from modeldyno.services.cleanup_thread import CleanupThread
from modeldyno.services.conversions import ConversionService
from modeldyno.services.datasets import DatasetService
from modeldyno.services.demo_project import DemoProject
from modeldyno.services.distributions import DistributionService
from modeldyno.services.event_feed import EventFeed
from modeldyno.services.example_fetches import ExampleFetches
from modeldyno.services.example_projects import ExampleProjects
from modeldyno.services.examples import ExampleService
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
from modeldyno.services.runnables import ComparisonService
from modeldyno.services.system import SystemService
from modeldyno.services.workloads import WorkloadService
from modeldyno.settings import Settings
from modeldyno.store import peaks as stored_peaks
from modeldyno.store.bundles import Bundles
from modeldyno.store.content import StoredContent
from modeldyno.store.history import History
from modeldyno.store.named_models import NamedModels
from modeldyno.store.objects import Objects
from modeldyno.store.rebuilding import Rebuilding
from modeldyno.store.records.all import Records
from modeldyno.store.roots import Roots
from modeldyno.store.runs import RunFolders
from modeldyno.store.server_lock import ServerLock, SoleServer
from modeldyno.store.trust import Trust
from modeldyno.store.upgrades import UpgradeProgress
from modeldyno.workbench import (
    open_doctor,
    open_examples,
    open_history,
    open_records,
    open_workbench,
)

# Model files read at the same time: one that takes a minute does not hold up the others.
READERS = 4


@dataclass(frozen=True, slots=True)
class Lifetime:
    """Starts and stops the background threads, in this order."""

    starting: tuple[Callable[[], object], ...]
    stopping: tuple[Callable[[], bool | None], ...]  # False: still at work
    held: ExitStack  # the database, and the locks on the workspace

    def start(self) -> None:
        for start in self.starting:
            start()

    def close(self) -> None:
        """Running jobs are stopped and can be resumed; waiting ones stay for the next server."""
        has_ended = [stop() is not False for stop in self.stopping]
        if all(has_ended):  # else keep the locks until the process ends: it may still write
            self.held.close()


@dataclass(frozen=True, slots=True)
class Server:
    """Each route takes the services it uses (``api/app.py``)."""

    settings: Settings
    lock: ServerLock
    lifetime: Lifetime
    records: Records
    history: History
    folders: RunFolders
    archive: Archive
    queue: Supervisor
    progress: LiveProgress
    feed: EventFeed
    run_end_callbacks: RunEndCallbacks
    system: SystemService
    file_browser: FileBrowser
    # What measurements are made of.
    projects: ProjectService
    models: ModelService
    model_files: ModelFiles
    file_inspections: FileInspections
    inferences: InferenceService
    conversions: ConversionService
    datasets: DatasetService
    examples: ExampleService
    example_fetches: ExampleFetches
    # What can be run, and its results.
    jobs: JobService
    benchmarks: BenchmarkService
    comparisons: ComparisonService
    optimizations: OptimizationService
    profiles: ProfileService
    exports: ExportService
    judgements: JudgementService
    distributions: DistributionService
    project_overviews: ProjectOverviewService
    # Requests that make several things at once.
    benchmark_by_name: BenchmarkByName
    workloads: WorkloadService
    example_projects: ExampleProjects
    demo: DemoProject


def open_server(
    settings: Settings,
    *,
    cores: Path = FOLDER,
    job_limit_s: float = 2 * 3600.0,
    upgrading: UpgradeProgress | None = None,
) -> Server:
    """Lock the workspace and its database, and settle whatever an earlier server left unfinished.

    ``upgrading`` reports the steps of an upgrade, if an earlier version wrote the database.
    ``cores`` is the folder of the locks on CPU cores: one for the whole machine. A job may take
    ``job_limit_s``, not counting its wait for cores. Raises ServerRunning when another server has
    the workspace or the database.
    """
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
        reading = open_workbench(settings, readers)
        models = ModelService(records, Trust(settings.workspace / "trust.json"), reading.graphs)
        named = NamedModels(settings.workspace)
        roots = Roots((*settings.models_roots, *named.create_folders()))
        examples = open_examples(settings)
        files = ModelFiles(
            records, objects, bundles, roots, reading.service, examples.readable_slugs
        )
        progress = LiveProgress()
        endings = JobEndings(records, folders, history, resumes=settings.resume)
        endings.recover()
        writes = LatestWrites()
        leases = ServerLeases(records.leases, records.jobs, writes, cores)
        queue = Supervisor(
            records,
            folders,
            endings,
            LocalJobs(leases, folders=folders, machine=settings.machine, content=content),
            leases,
            writes,
            progress.hear,
            models.require_still_trusted,
            sole.require_still_sole,
            job_limit_s,
            settings.workspace / "queue-paused",
        )
        jobs = JobService(records, history, queue, progress, leases)
        hosts, peaks_of = RunHosts(history), partial(stored_peaks.load, settings.workspace)
        archive = Archive(history, folders, records)
        exports = ExportService(records, history, folders, peaks_of)
        benchmarks = BenchmarkService(records, models, jobs, Baselines(hosts), history)
        comparisons = ComparisonService(records, models, jobs)
        profiles = ProfileService(records, models, jobs, hosts, peaks_of, history)
        projects = ProjectService(records, files, models, jobs, archive)
        file_inspections = FileInspections(records, files, models)
        conversion_jobs = LocalJobs(Leases(cores), content=content)
        conversions = ConversionService(records, models, files, conversion_jobs)
        example_fetches = ExampleFetches(records, examples, files)
        example_projects = ExampleProjects(records, examples, files, benchmarks)
        feed = EventFeed(records.database, records.events)
        run_end_callbacks = RunEndCallbacks()
        cleanup = CleanupThread(files.sweep)
        watch = FolderWatch(records, history, settings.workspace / "runs")
        rebuilding = Rebuilding(records.database, history)
        feed.on_event(cleanup.hear)
        feed.on_event(run_end_callbacks.call_on_end)
        return Server(
            settings=settings,
            lock=lock,
            records=records,
            history=history,
            folders=folders,
            archive=archive,
            queue=queue,
            progress=progress,
            feed=feed,
            run_end_callbacks=run_end_callbacks,
            system=SystemService(settings, records, open_doctor(settings)),
            file_browser=FileBrowser(roots),
            projects=projects,
            models=models,
            model_files=files,
            file_inspections=file_inspections,
            inferences=InferenceService(models, LocalJobs(content=content)),
            conversions=conversions,
            datasets=DatasetService(records, settings.workspace / "custom_datasets"),
            examples=examples,
            example_fetches=example_fetches,
            jobs=jobs,
            benchmarks=benchmarks,
            comparisons=comparisons,
            optimizations=OptimizationService(records, models, jobs),
            profiles=profiles,
            exports=exports,
            judgements=JudgementService(records, exports),
            distributions=DistributionService(records, history, folders),
            project_overviews=ProjectOverviewService(records, models),
            benchmark_by_name=BenchmarkByName(
                records, named, files, models, benchmarks, jobs, history
            ),
            workloads=WorkloadService(
                records, files, benchmarks, jobs, history, roots, settings.workspace / "workloads"
            ),
            example_projects=example_projects,
            demo=DemoProject(settings.workspace, records, files, benchmarks, comparisons, profiles),
            # Last: from here on closing is the caller's.
            lifetime=Lifetime(
                starting=(
                    feed.start,
                    cleanup.start,
                    watch.start,
                    queue.start,
                    rebuilding.start,
                    projects.forget_drafts,
                ),
                stopping=(
                    readers.cancel_all,
                    queue.close,
                    rebuilding.stop,
                    watch.close,
                    file_inspections.close,
                    example_fetches.close,
                    conversions.close,
                    example_projects.close,
                    feed.close,
                    cleanup.close,
                ),
                held=held.pop_all(),
            ),
        )
