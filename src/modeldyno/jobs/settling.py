"""Write down how a job ended: from what it said, or from what its folder knows after a crash."""

from __future__ import annotations

import logging
from datetime import UTC, datetime

from modeldyno.core import figures
from modeldyno.core.errors import ModeldynoError
from modeldyno.core.kinds import KINDS
from modeldyno.core.pages import LARGEST_PAGE, Wanted
from modeldyno.core.queue import Job
from modeldyno.core.results import Failure
from modeldyno.jobs.recording import Ending
from modeldyno.store.history import History
from modeldyno.store.records.all import Records
from modeldyno.store.runs import RunFolder, Runs
from modeldyno.worker.descendants import end_orphans

logger = logging.getLogger(__name__)

STOPPED = "the server was stopped"
VANISHED = "the server ended without a word"
ELSEWHERE = "another process goes on with it"
RESUMED = "goes on by itself"
BUG = Failure("BUG", "Something went wrong in the server", "it is our bug", "See the server's log")
MOST_STARTS = 3  # the first, and two by itself: a model may be what ends the server


class Settling:
    """``resumes``: what earlier servers left goes back to the queue by itself."""

    def __init__(
        self, records: Records, folders: Runs, history: History, *, resumes: bool = False
    ) -> None:
        self._records = records
        self._folders = folders
        self._history = history
        self._resumes = resumes

    def recover(self) -> tuple[Job, ...]:
        """Jobs of a server that is gone end truthfully; those that wait go on waiting.

        Nobody else may be at work on this database: see ``store/server_lock.py``.
        """
        # As a writer: what that server's last words were is then written, or never will be.
        with self._records.database.writing():
            running = self._records.jobs.running()
        settled = []
        for job in running:
            try:
                settled.append(self._settle(job))
            except Exception:  # the others, and the server, do not suffer from it
                logger.exception("job %s: how it ended cannot be written", job.id)
        self._sweep()
        self._records.leases.release_ended()
        if self._resumes:
            self._go_on()
        return tuple(settled)

    def _go_on(self) -> None:
        """What earlier servers left, however they ended; the first of them will be the next."""
        left = self._records.jobs.page(Wanted(state="interrupted", limit=LARGEST_PAGE)).items
        for job in left:  # the newest first
            folder = self._folders.folder(job.run_id)
            if job.attempts >= MOST_STARTS or (folder.exists() and folder.is_at_work()):
                continue
            with self._records.database.writing():
                self._records.jobs.move(job.id, "queued", f"{RESUMED}: {job.reason}")
                self._records.jobs.run_next(job.id)  # it was before the others already

    def write(self, job: Job, ending: Ending, why: str = STOPPED) -> None:
        """In one step: its figures, its end and the reason; the cores it had are free with it.

        An ending that the database cannot take is our bug, and that is how the job ends then.
        """
        try:
            self._write(job, ending, why)
        except ModeldynoError:
            raise
        except Exception:
            logger.exception("job %s: its end cannot be written", job.id)
            plain = Ending()
            plain.state, plain.failure = "failed", BUG
            self._write(job, plain, why)

    def _write(self, job: Job, ending: Ending, why: str) -> None:
        result, failure = ending.result, _failure(ending)
        reason = failure.title if failure else ""
        if ending.state in ("interrupted", "cancelled"):
            said = why if ending.state == "interrupted" else "cancelled"
            reason = f"{said}{self._kept(job)}"
        with self._records.database.writing():
            if result is not None:
                self._records.runs.write_result(job.run_id, result)
                if rows := result.profile_rows(job.run_id):
                    self._records.profiles.add_rows(job.run_id, rows)
            self._records.jobs.move(job.id, ending.state, reason, failure)

    def ended_elsewhere(self, job: Job) -> Ending | None:
        """A run that was interrupted here may have been resumed in a terminal, and be done."""
        folder = self._folders.folder(job.run_id)
        return self._known(job) if folder.exists() and folder.state() == "done" else None

    def _settle(self, job: Job) -> Job:
        """The folder may know an end that the database has not heard of."""
        folder = self._folders.folder(job.run_id)
        if folder.is_at_work():  # resumed in a terminal: it is not ours any more
            self.write(job, Ending(), ELSEWHERE)
            return self._records.jobs.get(job.id)
        self._set_aside(folder)
        self.write(job, self._known(job) or Ending(), VANISHED)
        return self._records.jobs.get(job.id)

    def tidy(self, job: Job) -> None:
        """End and remove what a run's workers left. Never raises: the job's end is still to be
        written, and does not depend on it."""
        self._set_aside(self._folders.folder(job.run_id))
        self._folders.sweep()

    def _set_aside(self, folder: RunFolder) -> None:
        try:
            if ended := end_orphans(folder.scratch):
                logger.warning("run %s: ended %s", folder.id, figures.counted(ended, "orphan"))
            self._folders.set_aside_scratch(folder.id)
        except Exception:
            logger.exception("run %s: what it left is still there", folder.id)

    def _sweep(self) -> None:
        """What could not be removed when its run ended, or belongs to a process that was killed."""
        try:
            for folder in self._folders.leftovers():
                self._set_aside(folder)
            self._folders.sweep()
        except OSError:
            logger.exception("what earlier runs left cannot be looked at")

    def _known(self, job: Job) -> Ending | None:
        """How this part of the run ended, as far as its folder tells."""
        folder = self._folders.folder(job.run_id)
        try:
            if not folder.exists() or not folder.is_over() or self._is_of_before(job):
                return None
            kept = self._history.read(job.run_id)
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            logger.exception("run %s cannot be read", job.run_id)
            return None
        ending = Ending()
        ending.state, ending.result, ending.failure = kept.state, kept.result, kept.failure
        return ending

    def _is_of_before(self, job: Job) -> bool:
        """The end of an earlier part, when this one was killed before it opened the folder."""
        folder = self._folders.folder(job.run_id)
        if folder.state() == "done" or job.started_at is None:
            return False
        written = (folder.path / "state.json").stat().st_mtime
        return datetime.fromtimestamp(written, UTC) < job.started_at

    def _kept(self, job: Job) -> str:
        what = KINDS[job.kind].spec.unit
        try:
            count = self._history.units_kept(job.run_id)
        except Exception:  # damaged, so nobody can tell; the end is written all the same
            logger.exception("run %s: what it kept cannot be counted", job.run_id)
            return ""
        return f"; {figures.counted(count, what)} kept"


def _failure(ending: Ending) -> Failure | None:
    """Of the run as a whole; when every cell failed, of the first."""
    failure = ending.failure or ending.unwritten
    if failure is None and ending.state == "failed" and ending.result is not None:
        failure = ending.result.failure()
    return failure
