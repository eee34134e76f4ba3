"""The latest progress of each running job, published at most four times a second.

Once a second after the first ten: each message costs CPU time on a machine that is measuring.
Progress is not stored: a client that missed some gets the latest with the job.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from modeldyno.core.ids import JobId
from modeldyno.core.jobs import Failed, Finished, Job, JobMessage, Progress, Started

logger = logging.getLogger(__name__)

INTERVAL_S = 0.25
LONG_JOB_INTERVAL_S = 1.0
LONG_JOB_S = 10.0  # shorter jobs should visibly move

ProgressListener = Callable[[Job, "JobProgress"], None]


@dataclass(frozen=True)
class JobProgress:
    headline: str = ""
    units_planned: int = 0
    progress: Progress | None = None
    notices: tuple[str, ...] = ()  # all so far


class LiveProgress:
    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._latest: dict[JobId, JobProgress] = {}
        self._begun_at: dict[JobId, float] = {}
        self._published_at: dict[JobId, float] = {}
        self._timers: dict[JobId, threading.Timer] = {}
        self._listeners: list[ProgressListener] = []
        # Held while publishing as well, so that nobody gets older progress after newer, or any
        # after the end. A listener may call ``of``, which needs no lock.
        self._publishing = threading.RLock()

    def on_progress(self, listener: ProgressListener) -> None:
        """``listener`` is called in the thread that reports progress; it must be quick."""
        self._listeners.append(listener)

    def of(self, job_id: JobId) -> JobProgress | None:
        """None when it does not run."""
        return self._latest.get(job_id)

    def hear(self, job: Job, message: JobMessage) -> None:
        with self._publishing:
            match message:
                case Started(headline=headline, units_planned=planned):
                    self._change(job, JobProgress(headline, planned))
                case Progress():
                    before = self._latest.get(job.id, JobProgress())
                    merged = _merge_progress(before.progress, message)
                    notices = dict.fromkeys((*before.notices, *filter(None, [message.notice])))
                    self._change(job, replace(before, progress=merged, notices=tuple(notices)))
                case Finished() | Failed():
                    self._forget(job.id)
                case _:
                    pass

    def _change(self, job: Job, progress: JobProgress) -> None:
        self._latest[job.id] = progress
        if job.id in self._timers:  # which publishes the latest
            return
        now = self._clock()
        is_long = now - self._begun_at.setdefault(job.id, now) > LONG_JOB_S
        interval_s = LONG_JOB_INTERVAL_S if is_long else INTERVAL_S
        wait_s = self._published_at.get(job.id, -interval_s) + interval_s - now
        if wait_s <= 0:
            self._publish(job)
            return
        timer = self._timers[job.id] = threading.Timer(wait_s, self._publish_if_due, (job,))
        timer.daemon = True
        timer.start()

    def _publish_if_due(self, job: Job) -> None:
        with self._publishing:
            # Another timer means that the job has ended and started again meanwhile.
            if self._timers.get(job.id) is threading.current_thread():
                del self._timers[job.id]
                self._publish(job)

    def _publish(self, job: Job) -> None:
        self._published_at[job.id] = self._clock()
        for listener in self._listeners:
            try:
                listener(job, self._latest[job.id])
            except Exception:
                logger.exception("job %s: a listener failed", job.id)

    def _forget(self, job_id: JobId) -> None:
        self._latest.pop(job_id, None)
        self._begun_at.pop(job_id, None)
        self._published_at.pop(job_id, None)
        if timer := self._timers.pop(job_id, None):
            timer.cancel()


def _merge_progress(before: Progress | None, now: Progress) -> Progress:
    """A job that waits for cores reports only that; the rest of its progress stays."""
    if before is None or now.estimate_s is not None or now.ratio is not None or now.cells:
        return now
    return replace(
        before,
        units_done=now.units_done,
        units_planned=now.units_planned,
        doing=now.doing,
        remaining_s=now.remaining_s,  # None: how long it will wait is unknown
    )
