"""Put runs in the queue, and say where they stand."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from modeldyno.core import figures
from modeldyno.core.codec import encode
from modeldyno.core.documents.runnables import SummaryDocument
from modeldyno.core.errors import LeasesUnusable, QueueFull, WrongState
from modeldyno.core.ids import JobId, ProjectId
from modeldyno.core.jobs import CoreLease, Job
from modeldyno.core.runs import ACTIVE, ListQuery, Page, RunOf
from modeldyno.core.specs import RunSpec
from modeldyno.jobs.leases import Leases
from modeldyno.jobs.supervisor import Supervisor
from modeldyno.measure.cpus import allowed_cpus
from modeldyno.services.progress import JobProgress, LiveProgress
from modeldyno.store.history import History
from modeldyno.store.records.all import Records

MOST_WAITING = 1000
MOST_WAITING_OF_PROJECT = 100
STOPPING_S = 20.0  # a job ends two seconds after it was cancelled, on a machine that is not busy
LOOK_S = 0.05


@dataclass(frozen=True)
class JobStatus:
    """A job, and what only the server at work knows about it."""

    job: Job
    place: int | None  # in the queue, from 1; None when it does not wait
    reason: str
    standing: JobProgress | None


@dataclass(frozen=True)
class QueueStatus:
    is_paused: bool
    cores: tuple[int, ...]  # that may be measured on
    leases: tuple[CoreLease, ...]
    elsewhere: dict[int, str]  # cores that another process measures on, and which
    running: tuple[JobStatus, ...]
    waiting: tuple[JobStatus, ...]  # in the order in which they will begin


class JobService:
    def __init__(
        self,
        records: Records,
        history: History,
        queue: Supervisor,
        progress: LiveProgress,
        leases: Leases,
    ) -> None:
        self._records = records
        self._history = history
        self._queue = queue
        self._progress = progress
        self._leases = leases

    def start(
        self,
        of: RunOf,
        spec: RunSpec,
        priority: int = 0,
        request_id: str | None = None,
    ) -> Job:
        """One more run of it, at the end of the queue; raises WrongState while one is not over."""
        with self._records.database.writing():
            self._require_idle(of)
            run = self._records.runs.add(of, encode(spec), summary=SummaryDocument.of_spec(spec))
            self._require_room(ProjectId(run.project_id))
            return self._records.jobs.add(run.id, priority, request_id)

    def get(self, job_id: JobId) -> JobStatus:
        return self._statuses([self._records.jobs.get(job_id)])[0]

    def page(self, wanted: ListQuery) -> Page[JobStatus]:
        page = self._records.jobs.page(wanted)
        return Page(tuple(self._statuses(page.items)), page.next)

    def cancel(self, job_id: JobId) -> JobStatus:
        """What waits is cancelled now, what runs within two seconds. What is over stays so."""
        self._queue.cancel(job_id)
        return self.get(job_id)

    def stop(self, of: RunOf, patience_s: float = STOPPING_S) -> None:
        """Cancel what waits or runs of a thing, and wait until it is over.

        Raises WrongState when that takes too long, or when it runs in a terminal.
        """
        deadline = time.monotonic() + patience_s
        while active := self._records.runs.active(of):
            for run in active:
                job = self._records.jobs.find_of_run(run.id)
                if job is None:
                    raise WrongState(
                        f"This {of.kind} is being measured in a terminal",
                        why="a server cannot stop that",
                        fix="Stop it there, or wait until it ends",
                    )
                self._queue.cancel(job.id)
            if time.monotonic() > deadline:
                raise WrongState(
                    f"This {of.kind} has not stopped yet",
                    why=f"it was asked to {patience_s:g} s ago",
                    fix="Try again in a moment",
                )
            time.sleep(LOOK_S)

    def resume(self, job_id: JobId) -> JobStatus:
        """Go on with what was stopped: what it measured counts."""
        with self._records.database.writing():
            job = self._records.jobs.get(job_id)
            if job.state not in ACTIVE:  # else the move itself is refused, with better words
                self._require_idle(self._records.runs.get(job.run_id).of)
                self._require_room(ProjectId(job.project_id))
            self._records.jobs.move(job_id, "queued")
        return self.get(job_id)

    def run_next(self, job_id: JobId) -> JobStatus:
        self._records.jobs.run_next(job_id)
        return self.get(job_id)

    def place(self, job_id: JobId, place: int) -> JobStatus:
        """Among those that wait, from 1; raises WrongState when it does not."""
        self._records.jobs.place(job_id, place)
        return self.get(job_id)

    def queue(self) -> QueueStatus:
        here = socket.gethostname()
        return QueueStatus(
            is_paused=self._queue.is_paused,
            cores=tuple(allowed_cpus()),
            leases=tuple(lease for lease in self.leases() if lease.host == here),
            elsewhere=self._cores_used_elsewhere(),
            running=tuple(self._statuses(self._records.jobs.running())),
            waiting=tuple(self._statuses(self._records.jobs.waiting())),
        )

    def pause(self) -> None:
        self._announce_after(self._queue.pause, is_paused=True)

    def unpause(self) -> None:
        self._announce_after(self._queue.unpause, is_paused=False)

    def _announce_after(self, turn: Callable[[], None], *, is_paused: bool) -> None:
        """Why each job waits changes with it."""
        waiting = () if self._queue.is_paused == is_paused else self._records.jobs.waiting()
        turn()
        self._records.jobs.announce_changed(waiting)

    def log_path(self, job_id: JobId) -> Path:
        """Where its workers' words are; the file may not be there yet."""
        return self._history.folder(self._records.jobs.get(job_id).run_id).log

    def _cores_used_elsewhere(self) -> dict[int, str]:
        try:
            return self._leases.of_others()
        except LeasesUnusable:  # a measurement reports it; the queue is shown all the same
            return {}

    def leases(self) -> tuple[CoreLease, ...]:
        return self._records.leases.held()

    def _require_idle(self, of: RunOf) -> None:
        if active := self._records.runs.active(of):
            raise WrongState(
                f"This {of.kind} is {_advise_for_state(active[0].state)} already",
                why="its runs follow one another",
                fix="Wait until it ends, or cancel it",
            )

    def _require_room(self, project_id: ProjectId) -> None:
        for most, where, count in (
            (MOST_WAITING, "the queue", self._records.jobs.count_waiting()),
            (MOST_WAITING_OF_PROJECT, "this project", self._records.jobs.count_waiting(project_id)),
        ):
            if count >= most:
                raise QueueFull(
                    f"{count} jobs of {where} wait already",
                    why=f"at most {most} may wait",
                    fix="Wait until some have ended, or cancel some",
                )

    def _statuses(self, jobs: Sequence[Job]) -> list[JobStatus]:
        """Two queries more, however many jobs there are; none when nothing waits."""
        if not any(job.state == "queued" for job in jobs):
            return [JobStatus(job, None, job.reason, self._progress.of(job.id)) for job in jobs]
        places = {job.id: place for place, job in enumerate(self._records.jobs.waiting(), start=1)}
        ahead = (
            "somebody to resume the queue"
            if self._queue.is_paused
            else self._describe_running_job()
        )
        return [
            JobStatus(
                job,
                places.get(job.id),
                job.reason or (_waiting_reason(places[job.id], ahead) if job.id in places else ""),
                self._progress.of(job.id),
            )
            for job in jobs
        ]

    def _describe_running_job(self) -> str:
        for job in self._records.jobs.running():
            standing = self._progress.of(job.id)
            left_s = standing.progress.remaining_s if standing and standing.progress else None
            about = f" (about {figures.duration(left_s)} more)" if left_s else ""
            # A job that runs has a reason only while it waits itself, for cores.
            return f"job {job.id}, {job.reason}" if job.reason else f"job {job.id}{about}"
        return ""


def _waiting_reason(place: int, ahead: str) -> str:
    if place > 1:
        between = figures.counted(place - 1, "job")
        return f"waiting behind {between} and {ahead}" if ahead else f"waiting behind {between}"
    return f"waiting for {ahead}" if ahead else "about to start"


def _advise_for_state(state: str) -> str:
    return "running" if state == "running" else "waiting in the queue"
