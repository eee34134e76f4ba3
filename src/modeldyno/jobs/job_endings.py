"""Record how a job ended: from its messages, or from its run folder after a crash."""

from __future__ import annotations

import logging
from datetime import UTC, datetime

from modeldyno.core import figures
from modeldyno.core.errors import ModeldynoError
from modeldyno.core.jobs import Job
from modeldyno.core.kinds import KINDS
from modeldyno.core.results import Failure
from modeldyno.core.runs import LARGEST_PAGE, ListQuery
from modeldyno.jobs.recording import Ending
from modeldyno.store.history import History
from modeldyno.store.records.all import Records
from modeldyno.store.runs import RunFolder, RunFolders
from modeldyno.worker.descendants import end_orphans

logger = logging.getLogger(__name__)

STOPPED = "the server was stopped"
VANISHED = "the server ended unexpectedly"
ELSEWHERE = "another process is continuing it"
RESUMED = "resumed automatically"
BUG = Failure("BUG", "Something went wrong in the server", "it is our bug", "See the server's log")
MOST_STARTS = 3  # the first and two resumptions: the model may be what crashes the server


class JobEndings:
    """``resumes``: jobs that earlier servers left are queued again."""

    def __init__(
        self, records: Records, folders: RunFolders, history: History, *, resumes: bool = False
    ) -> None:
        self._records = records
        self._folders = folders
        self._history = history
        self._resumes = resumes

    def recover(self) -> tuple[Job, ...]:
        """Jobs that ran in an earlier server get the end that their folder knows.

        No other server may use this database: see ``store/server_lock.py``.
        """
        # As a writer: after that, the earlier server can no longer write anything.
        with self._records.database.writing():
            running = self._records.jobs.running()
        recovered = []
        for job in running:
            try:
                recovered.append(self._recover_job(job))
            except Exception:  # the other jobs and the server keep running
                logger.exception("job %s: how it ended cannot be written", job.id)
        self._clean_up_leftovers()
        self._records.leases.release_ended()
        if self._resumes:
            self._queue_again()
        return tuple(recovered)

    def _queue_again(self) -> None:
        """All that earlier servers left unfinished; the oldest of them runs next."""
        jobs = self._records.jobs.page(ListQuery(state="interrupted", limit=LARGEST_PAGE)).items
        for job in jobs:  # the newest first
            folder = self._folders.folder(job.run_id)
            if job.attempts >= MOST_STARTS or (folder.exists() and folder.is_being_measured()):
                continue
            with self._records.database.writing():
                self._records.jobs.move(job.id, "queued", f"{RESUMED}: {job.reason}")
                self._records.jobs.run_next(job.id)  # it was ahead of the queue before

    def write(self, job: Job, ending: Ending, why: str = STOPPED) -> None:
        """In one transaction: its figures, end, reason and free cores.

        If an ending cannot be stored, that is our bug, and the job ends with it.
        """
        try:
            self._write_ending(job, ending, why)
        except ModeldynoError:
            raise
        except Exception:
            logger.exception("job %s: its end cannot be written", job.id)
            self._write_ending(job, Ending(state="failed", failure=BUG), why)

    def _write_ending(self, job: Job, ending: Ending, why: str) -> None:
        result, failure = ending.result, _failure_of(ending)
        reason = failure.title if failure else ""
        if ending.state in ("interrupted", "cancelled"):
            cause = why if ending.state == "interrupted" else "cancelled"
            reason = f"{cause}{self._describe_kept_units(job)}"
        with self._records.database.writing():
            if result is not None:
                self._records.runs.write_result(job.run_id, result)
                if rows := result.profile_rows(job.run_id):
                    self._records.profiles.add_rows(job.run_id, rows)
            self._records.jobs.move(job.id, ending.state, reason, failure)

    def ending_elsewhere(self, job: Job) -> Ending | None:
        """A run that was interrupted here may have been resumed in a terminal, and finished."""
        folder = self._folders.folder(job.run_id)
        return self._ending_in_folder(job) if folder.exists() and folder.state() == "done" else None

    def _recover_job(self, job: Job) -> Job:
        """The folder may know an end that the database does not."""
        folder = self._folders.folder(job.run_id)
        if folder.is_being_measured():  # resumed in a terminal
            self.write(job, Ending(), ELSEWHERE)
            return self._records.jobs.get(job.id)
        self._remove_leftovers(folder)
        self.write(job, self._ending_in_folder(job) or Ending(), VANISHED)
        return self._records.jobs.get(job.id)

    def clean_up(self, job: Job) -> None:
        """End processes and remove files that a run's workers left. Never raises: the job's end
        must still be written."""
        self._remove_leftovers(self._folders.folder(job.run_id))
        self._folders.delete_renamed_scratch()

    def _remove_leftovers(self, folder: RunFolder) -> None:
        try:
            if ended := end_orphans(folder.scratch):
                logger.warning("run %s: ended %s", folder.id, figures.counted(ended, "orphan"))
            self._folders.rename_scratch(folder.id)
        except Exception:
            logger.exception("run %s: what it left is still there", folder.id)

    def _clean_up_leftovers(self) -> None:
        """Remove what earlier runs could not, or what belongs to a process that was killed."""
        try:
            for folder in self._folders.find_ended_with_scratch():
                self._remove_leftovers(folder)
            self._folders.delete_renamed_scratch()
        except OSError:
            logger.exception("what earlier runs left cannot be looked at")

    def _ending_in_folder(self, job: Job) -> Ending | None:
        """How this part of the run ended, if its folder knows."""
        folder = self._folders.folder(job.run_id)
        try:
            if not folder.exists() or not folder.is_over() or self._is_from_earlier_part(job):
                return None
            run = self._history.read(job.run_id)
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            logger.exception("run %s cannot be read", job.run_id)
            return None
        return Ending(state=run.state, result=run.result, failure=run.failure)

    def _is_from_earlier_part(self, job: Job) -> bool:
        """This part may have been killed before it opened the folder."""
        folder = self._folders.folder(job.run_id)
        if folder.state() == "done" or job.started_at is None:
            return False
        written = (folder.path / "state.json").stat().st_mtime
        return datetime.fromtimestamp(written, UTC) < job.started_at

    def _describe_kept_units(self, job: Job) -> str:
        what = KINDS[job.kind].spec.unit
        try:
            count = self._history.units_kept(job.run_id)
        except Exception:  # the folder is damaged; the end is still written
            logger.exception("run %s: what it kept cannot be counted", job.run_id)
            return ""
        return f"; {figures.counted(count, what)} kept"


def _failure_of(ending: Ending) -> Failure | None:
    """Of the whole run; if every cell failed, of the first."""
    failure = ending.failure or ending.unwritten
    if failure is None and ending.state == "failed" and ending.result is not None:
        failure = ending.result.failure()
    return failure
