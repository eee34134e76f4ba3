"""The queue of a server: runs the jobs that wait in the database, one at a time.

The database holds jobs and their outcome; the run's folder holds what was measured. A unit is in
the folder before it is announced, so the database can be behind the folder, never ahead:
``jobs/job_endings.py`` brings it up to date after a crash.

One thread takes jobs from the queue. The thread that starts workers is another (``jobs/local.py``),
because it must outlive them.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from modeldyno.core.errors import (
    DatabaseUnusable,
    ModeldynoError,
    NotFound,
    TimedOut,
    WorkspaceUnusable,
    WrongState,
)
from modeldyno.core.ids import JobId, RunId
from modeldyno.core.jobs import Cells, Failed, Job, JobMessage, Unit
from modeldyno.core.kinds import spec_from
from modeldyno.core.results import Failure
from modeldyno.core.specs import RunSpec
from modeldyno.jobs.job_endings import BUG, JobEndings
from modeldyno.jobs.latest_writes import LatestWrites
from modeldyno.jobs.protocol import Jobs
from modeldyno.jobs.recording import Ending, Stopped, store_message
from modeldyno.jobs.server_leases import ServerLeases
from modeldyno.store.configs import write_config
from modeldyno.store.owners import current_job_owner
from modeldyno.store.records.all import Records
from modeldyno.store.runs import RunFolder, RunFolders

logger = logging.getLogger(__name__)

RECHECK_S = 5.0  # for changes that did not wake us
RETRY_S = 1.0  # while the database is unreachable
MOST_BUGS = 3  # while writing one end: a lack of memory passes, a bug does not
CANCELLED = Stopped("cancelled")
CLOSED = Stopped("interrupted")

Listener = Callable[[Job, JobMessage], None]
Admit = Callable[[RunSpec], None]
Confirm = Callable[[], None]


@dataclass
class _Current:
    job_id: JobId
    run_id: RunId
    ending: Ending = field(default_factory=Ending)
    is_open: bool = False  # its folder says that it is running


class Supervisor:
    """``listen`` gets a job's messages once they are stored; ``admit`` raises if a spec may not run
    (its model is no longer trusted), ``confirm`` if another server has taken over the database."""

    def __init__(
        self,
        records: Records,
        folders: RunFolders,
        endings: JobEndings,
        jobs: Jobs,
        leases: ServerLeases,
        writes: LatestWrites,
        listen: Listener,
        admit: Admit,
        confirm: Confirm,
        limit_s: float,  # of a job, without waiting for cores; its cells have their own limits
        paused: Path,  # while this file exists, no job starts, even after a restart
    ) -> None:
        self._records = records
        self._folders = folders
        self._endings = endings
        self._jobs = jobs
        self._leases = leases
        self._writes = writes
        self._listen = listen
        self._admit = admit
        self._confirm = confirm
        self._limit_s = limit_s
        self._owner = current_job_owner()
        self._wake = threading.Event()
        self._closing = threading.Event()
        self._paused = paused
        self._lock = threading.Lock()
        self._current: _Current | None = None
        self._thread = threading.Thread(target=self._run_thread, name="queue", daemon=True)

    # ------------------------------------------------------------ from outside

    def start(self) -> None:
        self._writes.start()
        self._records.database.add_write_listener(self._wake.set)
        self._thread.start()

    def cancel(self, job_id: JobId) -> Job:
        """Within two seconds; measured units stay. A job that is over does not change."""
        self._stop_if_current(job_id)  # first, since the database may be unreachable
        job = self._records.jobs.cancel_waiting(job_id)
        if job.state == "running":  # it may have been claimed since we looked
            self._stop_if_current(job_id)
        return job

    @property
    def is_paused(self) -> bool:
        return self._paused.exists()

    def pause(self) -> None:
        """The running job continues; no other starts."""
        try:
            self._paused.touch()
        except OSError as error:
            raise WorkspaceUnusable(
                "Cannot write to the workspace", why=error.strerror or str(error)
            ) from error

    def unpause(self) -> None:
        self._paused.unlink(missing_ok=True)
        self._wake.set()

    def _stop_if_current(self, job_id: JobId) -> None:
        with self._lock:
            if self._current is not None and self._current.job_id == job_id:
                self._stop(self._current, CANCELLED)

    def close(self, patience_s: float = 10.0) -> bool:
        """The running job is stopped and can be resumed; the others wait for the next server.

        False if it did not end in time, and may still write.
        """
        self._closing.set()
        with self._lock:
            if self._current is not None:
                self._stop(self._current, CLOSED)
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join(patience_s)
        if self._thread.is_alive():
            return False
        self._writes.close()
        return True

    def _stop(self, current: _Current, stopped: Stopped) -> None:
        """The first reason counts. A job that is not submitted yet is stopped by
        ``_wait_for_end``."""
        if current.ending.stopped is None:
            current.ending.stopped = stopped
        self._jobs.cancel(current.run_id)

    # ------------------------------------------------------------ the queue's thread

    def _run_thread(self) -> None:
        while not self._closing.is_set():
            self._wake.clear()
            try:
                self._confirm()
                job = None if self.is_paused else self._records.jobs.next()
                if job is not None:
                    self._run(job)
                    continue
            except ModeldynoError as error:
                logger.warning("the queue has to wait: %s", error)
                self._closing.wait(RETRY_S)
                continue
            except Exception:
                logger.exception("the queue failed")  # our bug; the next job may work
                self._closing.wait(RETRY_S)
            self._wake.wait(RECHECK_S)

    def _run(self, job: Job) -> None:
        # Before it is claimed, in case the database is unreachable.
        spec = self._spec_or_failure(job)
        current = _Current(job.id, job.run_id)
        with self._lock:
            if self._closing.is_set():
                return
            self._current = current
        try:
            try:
                job = self._records.jobs.claim(job.id, self._owner)
            except WrongState:  # cancelled a moment ago
                return
            logger.info("job %s: run %s started", job.id, job.run_id)
            self._execute(job, spec, current)
            self._write_ending(job, current.ending)
            logger.info("job %s: %s", job.id, current.ending.state)
        finally:
            with self._lock:
                self._current = None

    def _spec_or_failure(self, job: Job) -> RunSpec | Failure:
        """Its spec, or why it may not or cannot run."""
        stored = self._records.runs.get(job.run_id).spec
        try:
            spec = spec_from(stored)
            self._admit(spec)
        except DatabaseUnusable:
            raise
        except ModeldynoError as error:
            return Failure.of(error)
        except Exception:
            logger.exception("job %s: our bug", job.id)
            return BUG
        return spec

    def _execute(self, job: Job, spec: RunSpec | Failure, current: _Current) -> None:
        """Always leaves the job with an ending."""

        def record(run_id: RunId, message: JobMessage) -> None:
            store_message(self._folders, run_id, message, current.ending)
            if isinstance(message, Cells):
                self._announce_cells(run_id, spec, message)
            self._announce(job, message)

        try:
            if (known := self._endings.ending_elsewhere(job)) is not None:
                current.ending = known
                return
            if isinstance(spec, Failure):
                self._fail(job, current, spec)
                return
            earlier = self._open_folder(job, spec)
            current.is_open = True
            with self._leases.held_by(job.id, self._owner):
                self._jobs.submit(job.run_id, spec, record, earlier)
                self._wait_for_end(current)
        except ModeldynoError as error:
            self._fail(job, current, Failure.of(error))
        except Exception:
            logger.exception("job %s: our bug", job.id)
            self._fail(job, current, BUG)
        if current.is_open:  # else the folder may be another process's
            self._endings.clean_up(job)

    def _announce_cells(self, run_id: RunId, spec: RunSpec | Failure, message: Cells) -> None:
        """Pages show the requested cells until they hear of others."""
        if not isinstance(spec, Failure) and message.cells != spec.configurations():
            self._writes.put("cells", lambda: self._records.runs.announce_cells(run_id))

    def _announce(self, job: Job, message: JobMessage) -> None:
        try:
            self._listen(job, message)
        except Exception:  # a listener must not affect the job
            logger.exception("job %s: a listener failed", job.id)

    def _fail(self, job: Job, current: _Current, failure: Failure) -> None:
        """It could not start, or ended without a message."""
        ending = current.ending
        if ending.is_kept:  # a later error does not change its end
            logger.warning("job %s: after its end: %s", job.id, failure.title)
            return
        if current.is_open:
            try:
                store_message(self._folders, job.run_id, Failed(failure), ending)
            except Exception:
                logger.exception("run %s: its end is not in its folder", job.run_id)
        ending.failure, ending.state = failure, "failed"
        self._announce(job, Failed(failure))

    def _open_folder(self, job: Job, spec: RunSpec) -> tuple[Unit, ...]:
        """Make a new folder, or reopen that of a resumed run; returns its units."""
        folder = self._folders.folder(job.run_id)
        if not folder.exists():
            folder = self._folders.create(spec, job.run_id)
            _write_config(folder, spec)
            return ()
        if folder.state() == "running":
            raise WrongState(
                "This run is being measured right now",
                why="another process is continuing it",
                fix="Wait until that ends, or stop it",
            )
        units = tuple(self._folders.units(job.run_id))
        self._folders.reopen(job.run_id)
        return units

    def _wait_for_end(self, current: _Current) -> None:
        with self._lock:
            if current.ending.stopped is not None:  # before it was submitted
                self._jobs.cancel(current.run_id)
        over = threading.Event()
        clock = threading.Thread(target=self._watch_for_stop, args=(current, over), daemon=True)
        clock.start()
        try:
            self._jobs.wait(current.run_id)
        finally:
            over.set()

    def _watch_for_stop(self, current: _Current, over: threading.Event) -> None:
        """Enforce the time limit; waiting for cores does not count."""
        end = time.monotonic() + self._limit_s
        while (left_s := end + self._leases.waited_s() - time.monotonic()) > 0:
            if over.wait(max(left_s, 0.1)):
                return
        with self._lock:
            self._stop(current, Stopped("failed", _time_limit_failure(self._limit_s)))

    def _write_ending(self, job: Job, ending: Ending) -> None:
        """The database may be unreachable for a while; meanwhile the folder has everything."""
        bugs = 0
        while True:
            try:
                return self._endings.write(job, ending)
            except (WrongState, NotFound):
                raise
            except ModeldynoError as error:
                if self._closing.is_set():
                    raise
                logger.warning("job %s: its end is not in the database yet: %s", job.id, error)
            except Exception:
                bugs += 1
                if bugs == MOST_BUGS or self._closing.is_set():
                    raise
                logger.exception("job %s: its end is not in the database yet", job.id)
            self._closing.wait(RETRY_S)


def _write_config(folder: RunFolder, spec: RunSpec) -> None:
    """The file is for people; if it cannot be written, the run continues without it."""
    try:
        write_config(folder.path, spec)
    except OSError as error:
        logger.warning("run %s: no configuration was written: %s", folder.id, error)


def _time_limit_failure(limit_s: float) -> Failure:
    return Failure.of(
        TimedOut(
            "The job took too long",
            why=f"a job may take {limit_s / 3600:g} h",
            fix="Measure fewer cells at once, or resume it: what was measured is kept",
        )
    )
