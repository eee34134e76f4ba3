"""The queue of a server: what waits in the database is run here, one job at a time.

The database says what is to be done and what became of it; the run's folder holds what was
measured. A unit is in the folder before anybody hears of it, so the database can be behind the
folder, never ahead: ``recover`` brings it up to date after whatever ended the process before.

One thread takes jobs from the queue. The thread that starts workers is another (``jobs/local.py``),
because it must outlive them.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from modeldyno.core.codec import decode
from modeldyno.core.errors import DatabaseUnusable, ModeldynoError, TimedOut, WrongState
from modeldyno.core.ids import JobId, RunId
from modeldyno.core.jobs import JobMessage, Unit
from modeldyno.core.queue import Job
from modeldyno.core.results import BenchmarkResult, ComparisonResult, Failure
from modeldyno.core.runs import RunState
from modeldyno.core.specs import RunSpec
from modeldyno.core.summaries import outcomes_of, summarise_result
from modeldyno.jobs.protocol import Jobs
from modeldyno.jobs.recording import Ending, keep
from modeldyno.jobs.shown_leases import ShownLeases
from modeldyno.store.history import History
from modeldyno.store.owners import this_job_owner
from modeldyno.store.records.all import Records
from modeldyno.store.runs import RunFolder, Runs

logger = logging.getLogger(__name__)

LIMIT_S = 2 * 3600.0  # of a job, from its start; its cells have limits of their own
LOOK_AGAIN_S = 5.0  # for what nobody woke us for
STOPPED = "the server was stopped"
VANISHED = "the server ended without a word"

Hear = Callable[[Job, JobMessage], None]
Admit = Callable[[RunSpec], None]


@dataclass
class _Current:
    job_id: JobId
    run_id: RunId
    is_cancelled: bool = False
    is_late: bool = False


class Supervisor:
    """``hear`` is told what a job says, after it was kept; ``admit`` raises when a spec may not run
    (its model is no longer trusted)."""

    def __init__(
        self,
        records: Records,
        folders: Runs,
        history: History,
        jobs: Jobs,
        leases: ShownLeases,
        hear: Hear,
        admit: Admit,
        limit_s: float = LIMIT_S,
    ) -> None:
        self._records = records
        self._folders = folders
        self._history = history
        self._jobs = jobs
        self._leases = leases
        self._hear = hear
        self._admit = admit
        self._limit_s = limit_s
        self._owner = this_job_owner()
        self._wake = threading.Event()
        self._lock = threading.Lock()
        self._current: _Current | None = None
        self._is_closing = False
        self._thread = threading.Thread(target=self._work, name="queue", daemon=True)

    # ------------------------------------------------------------ from outside

    def recover(self) -> tuple[Job, ...]:
        """Jobs of a server that is gone end truthfully; those that wait go on waiting.

        Nobody else may be at work on this database: see ``store/server_lock.py``.
        """
        return tuple(self._settle(job) for job in self._records.jobs.running())

    def start(self) -> None:
        self._records.database.on_write(self._wake.set)
        self._thread.start()

    def cancel(self, job_id: JobId) -> Job:
        """Within two seconds; what was measured stays. Nothing happens to what is over."""
        job = self._records.jobs.cancel_waiting(job_id)
        with self._lock:
            if self._current is not None and self._current.job_id == job_id:
                self._current.is_cancelled = True
                self._jobs.cancel(self._current.run_id)
        return job

    def close(self, patience_s: float = 10.0) -> None:
        """What runs is stopped and can be resumed; what waits waits for the next server."""
        with self._lock:
            self._is_closing = True
            if self._current is not None:
                self._jobs.cancel(self._current.run_id)
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join(patience_s)

    # ------------------------------------------------------------ the queue's thread

    def _work(self) -> None:
        while not self._is_closing:
            self._wake.clear()
            try:
                job = self._records.jobs.next()
                if job is not None:
                    self._run(job)
                    continue
            except Exception:
                # The database is locked or gone for a while, or this is a bug: the queue goes on.
                logger.exception("the queue stumbled")
                time.sleep(1.0)
            self._wake.wait(LOOK_AGAIN_S)

    def _run(self, job: Job) -> None:
        current = _Current(job.id, job.run_id)
        with self._lock:
            if self._is_closing:
                return
            self._current = current
        try:
            try:
                job = self._records.jobs.claim(job.id, self._owner)
            except WrongState:  # cancelled a moment ago
                return
            logger.info("job %s: run %s started", job.id, job.run_id)
            ending = self._execute(job, current)
            self._until_written(job, ending)
            logger.info("job %s: %s", job.id, ending.state)
        finally:
            with self._lock:
                self._current = None

    def _execute(self, job: Job, current: _Current) -> Ending:
        ending = Ending()

        def record(run_id: RunId, message: JobMessage) -> None:
            keep(self._folders, run_id, message, ending)
            self._hear(job, message)

        try:
            spec: RunSpec = decode(RunSpec, self._records.runs.get(job.run_id).spec)
            self._admit(spec)
            folder, earlier = self._opened(job, spec)
            with self._leases.shown_as(job.id, self._owner):
                self._jobs.submit(folder, spec, record, earlier)
                self._wait(current)
        except ModeldynoError as error:
            ending.failure, ending.state = Failure.of(error), "failed"
        finally:
            self._folders.clear_scratch(job.run_id)
        if current.is_late:
            _tell_late(ending, self._limit_s)
        if self._is_closing and not current.is_cancelled and ending.state == "cancelled":
            ending.state = "interrupted"
        return ending

    def _opened(self, job: Job, spec: RunSpec) -> tuple[RunFolder, tuple[Unit, ...]]:
        """A new folder, or the one of a run that goes on, with what it has measured."""
        if not self._history.folder(job.run_id).exists():
            return self._folders.create(spec, job.run_id), ()
        units = tuple(self._folders.units(job.run_id))
        return self._folders.reopen(job.run_id), units

    def _wait(self, current: _Current) -> None:
        with self._lock:
            if current.is_cancelled or self._is_closing:  # before there was anything to cancel
                self._jobs.cancel(current.run_id)
        late = threading.Timer(self._limit_s, self._call_time, (current,))
        late.daemon = True
        late.start()
        try:
            self._jobs.wait(current.run_id)
        finally:
            late.cancel()

    def _call_time(self, current: _Current) -> None:
        current.is_late = True
        self._jobs.cancel(current.run_id)

    # ------------------------------------------------------------ how it ended

    def _until_written(self, job: Job, ending: Ending) -> None:
        """The database may be away for a while; the folder has everything meanwhile."""
        while True:
            try:
                return self._write(job, ending)
            except DatabaseUnusable:
                if self._is_closing:
                    raise
                logger.exception("job %s: its end is not in the database yet", job.id)
                time.sleep(1.0)

    def _write(self, job: Job, ending: Ending) -> None:
        result, failure = ending.result, ending.failure or ending.unwritten
        reason = failure.title if failure else STOPPED if ending.state == "interrupted" else ""
        with self._records.database.writing():
            if isinstance(result, (BenchmarkResult, ComparisonResult)):
                cells = outcomes_of(result) if isinstance(result, BenchmarkResult) else ()
                summary = summarise_result(result)
                self._records.runs.write_figures(job.run_id, summary, cells, result.tool_version)
            self._records.jobs.move(job.id, ending.state, reason, failure)

    def _settle(self, job: Job) -> Job:
        """After a crash: the folder may know an end that the database has not heard of."""
        folder = self._history.folder(job.run_id)
        ending = Ending()
        if folder.exists():
            try:
                kept = self._history.read(job.run_id)
            except (OSError, ValueError, KeyError):
                logger.exception("run %s cannot be read", job.run_id)
            else:
                ended: RunState = kept.state
                if ended not in ("running", "queued"):
                    ending.state, ending.result, ending.failure = ended, kept.result, kept.failure
            self._folders.clear_scratch(job.run_id)
        self._write(job, ending)
        if ending.state == "interrupted":
            self._records.jobs.explain(job.id, VANISHED)
        return self._records.jobs.get(job.id)


def _tell_late(ending: Ending, limit_s: float) -> None:
    error = TimedOut(
        "The job took too long",
        why=f"a job may take {limit_s / 3600:g} h",
        fix="Measure fewer cells at once, or resume it: what was measured is kept",
    )
    ending.failure, ending.state = Failure.of(error), "failed"
