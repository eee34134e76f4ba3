"""Jobs on this machine: long-lived supervisor threads run them and start their workers.

Threads are kept, since the kernel ends a worker with the thread that started it. Measurements have
exactly one thread.
"""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from importlib import import_module

from modeldyno.core.errors import Cancelled, ModeldynoError
from modeldyno.core.ids import RunId
from modeldyno.core.jobs import Failed, Finished, JobMessage, Result, Started, Unit
from modeldyno.core.results import Failure
from modeldyno.core.specs import RunSpec
from modeldyno.jobs.leases import Leases
from modeldyno.jobs.protocol import Content, Context, Record
from modeldyno.measure.host import machine_identity
from modeldyno.store.runs import RunFolder, RunFolders
from modeldyno.worker.launch import Stop
from modeldyno.worker.untrusted_folders import temporary_folder

logger = logging.getLogger(__name__)

# By the kind of the spec: the function that runs it.
RUN_FUNCTIONS: dict[str, str] = {
    "benchmark": "modeldyno.jobs.benchmark:run_benchmark",
    "comparison": "modeldyno.jobs.comparison:run_comparison",
    "profile": "modeldyno.jobs.profile:run_profile",
    "optimization": "modeldyno.jobs.optimization:run_optimization",
    "inspection": "modeldyno.jobs.inspection:run_inspection",
    "graph": "modeldyno.jobs.graph:run_graph",
    "inference": "modeldyno.jobs.inference:run_inference",
    "conversion": "modeldyno.jobs.conversion:run_conversion",
}


@dataclass
class _Job:
    run_id: RunId
    spec: RunSpec
    record: Record
    earlier: tuple[Unit, ...] = ()
    stop: Stop = field(default_factory=Stop)
    over: threading.Event = field(default_factory=threading.Event)
    bug: BaseException | None = None


class LocalJobs:
    """``at_once`` jobs run concurrently; the others wait, first come first served.

    Runs that are stored work in their folder of ``folders``, all others in a temporary one.
    ``machine`` is a name that the user gave this one; ``content`` has the files that specs list by
    checksum.
    """

    def __init__(
        self,
        leases: Leases | None = None,
        at_once: int = 1,
        folders: RunFolders | None = None,
        machine: str | None = None,
        content: Content | None = None,
    ) -> None:
        self._folders = folders
        self._machine = machine
        self._content = content
        self._leases = leases or Leases()
        self._queue: queue.SimpleQueue[_Job] = queue.SimpleQueue()
        self._jobs: dict[RunId, _Job] = {}
        self._at_once = at_once
        self._threads: list[threading.Thread] = []
        self._starting = threading.Lock()

    def submit(
        self, run_id: RunId, spec: RunSpec, record: Record, earlier: tuple[Unit, ...] = ()
    ) -> None:
        job = _Job(run_id, spec, record, earlier)
        self._jobs[run_id] = job
        self._queue.put(job)
        with self._starting:
            # A fork has none of its parent's threads.
            self._threads = [thread for thread in self._threads if thread.is_alive()]
            if len(self._threads) < self._at_once:
                thread = threading.Thread(target=self._supervise, name="supervisor", daemon=True)
                self._threads.append(thread)
                thread.start()

    def cancel(self, run_id: RunId) -> None:
        job = self._jobs.get(run_id)  # a single look-up: wait() may remove it meanwhile
        if job is not None:  # otherwise it is over
            job.stop.request()

    def cancel_all(self) -> None:
        for run_id in [*self._jobs]:
            self.cancel(run_id)

    def wait(self, run_id: RunId) -> None:
        job = self._jobs.get(run_id)
        if job is None:  # another thread has waited for it already
            return
        job.over.wait()
        self._jobs.pop(run_id, None)
        if job.bug is not None:
            raise job.bug

    def _supervise(self) -> None:
        while True:
            job = self._queue.get()
            try:
                self._run(job)
            except BaseException as error:  # noqa: BLE001 - handed to whoever waits
                job.bug = error
            finally:
                job.over.set()  # first, so that nobody waits for ever if closing fails
                with suppress(OSError):
                    job.stop.close()

    def _run(self, job: _Job) -> None:
        def send(message: JobMessage) -> None:
            if isinstance(message, Started):
                message = replace(message, machine=self._machine or machine_identity())
            job.record(job.run_id, message)

        try:
            if job.stop.requested:
                raise Cancelled("Stopped before it started")
            with self._opened_run_folder(job) as folder:
                context = Context(
                    folder, send, job.stop, self._leases, job.earlier, self._machine, self._content
                )
                for model in job.spec.models():
                    context.local(model)  # fetched before any time limit begins
                result = _execute(job.spec, context)
        except ModeldynoError as error:
            logger.info("run %s: %s", job.run_id, error)
            send(Failed(Failure.of(error)))
        else:
            send(Finished(result))

    @contextmanager
    def _opened_run_folder(self, job: _Job) -> Iterator[RunFolder]:
        if self._folders is not None and job.spec.is_kept:
            yield self._folders.folder(job.run_id)
            return
        with temporary_folder() as place:
            yield RunFolders(place).create(job.spec, job.run_id)


def _execute(spec: RunSpec, context: Context) -> Result:
    # Each kind is imported when it first runs: its worker starts before numpy is loaded.
    module, _, name = RUN_FUNCTIONS[spec.kind].partition(":")
    run: Callable[[RunSpec, Context], Result] = getattr(import_module(module), name)
    return run(spec, context)
