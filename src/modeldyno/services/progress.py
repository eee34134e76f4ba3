"""Where each running job stands: the latest word only, told at most four times a second.

Once a second when it goes on for longer: each word costs whoever listens, where something is being
measured.

Progress is not kept. Whoever missed some asks for the job, and has the latest.
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

APART_S = 0.25
LATER_APART_S = 1.0
LATER_S = 10.0  # what is over by then should be seen to move

Tell = Callable[[Job, "JobProgress"], None]


@dataclass(frozen=True)
class JobProgress:
    headline: str = ""
    units_planned: int = 0
    progress: Progress | None = None


class LiveProgress:
    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._standings: dict[JobId, JobProgress] = {}
        self._begun_at: dict[JobId, float] = {}
        self._told_at: dict[JobId, float] = {}
        self._owed: dict[JobId, threading.Timer] = {}
        self._listeners: list[Tell] = []
        # Held while telling as well: so nobody hears an older word after a newer one, nor anything
        # after the end. A listener may ask ``of``, which needs no lock.
        self._telling = threading.RLock()

    def on_progress(self, tell: Tell) -> None:
        """``tell`` is called in whatever thread has the news; it must be quick."""
        self._listeners.append(tell)

    def of(self, job_id: JobId) -> JobProgress | None:
        """None when it does not run."""
        return self._standings.get(job_id)

    def hear(self, job: Job, message: JobMessage) -> None:
        with self._telling:
            match message:
                case Started(headline=headline, units_planned=planned):
                    self._change(job, JobProgress(headline, planned))
                case Progress():
                    before = self._standings.get(job.id, JobProgress())
                    self._change(job, replace(before, progress=_later(before.progress, message)))
                case Finished() | Failed():
                    self._forget(job.id)
                case _:
                    pass

    def _change(self, job: Job, standing: JobProgress) -> None:
        self._standings[job.id] = standing
        if job.id in self._owed:  # the last value wins
            return
        now = self._clock()
        is_long = now - self._begun_at.setdefault(job.id, now) > LATER_S
        apart_s = LATER_APART_S if is_long else APART_S
        wait_s = self._told_at.get(job.id, -apart_s) + apart_s - now
        if wait_s <= 0:
            self._tell(job)
            return
        timer = self._owed[job.id] = threading.Timer(wait_s, self._pay, (job,))
        timer.daemon = True
        timer.start()

    def _pay(self, job: Job) -> None:
        with self._telling:
            # Another timer than ours means that the job has ended and begun again meanwhile.
            if self._owed.get(job.id) is threading.current_thread():
                del self._owed[job.id]
                self._tell(job)

    def _tell(self, job: Job) -> None:
        self._told_at[job.id] = self._clock()
        for listener in self._listeners:
            try:
                listener(job, self._standings[job.id])
            except Exception:
                logger.exception("job %s: a listener failed", job.id)

    def _forget(self, job_id: JobId) -> None:
        self._standings.pop(job_id, None)
        self._begun_at.pop(job_id, None)
        self._told_at.pop(job_id, None)
        if timer := self._owed.pop(job_id, None):
            timer.cancel()


def _later(before: Progress | None, now: Progress) -> Progress:
    """Who waits for cores says only that; what was known stays known."""
    if before is None or now.estimate_s is not None or now.ratio is not None or now.cells:
        return now
    return replace(
        before,
        units_done=now.units_done,
        units_planned=now.units_planned,
        doing=now.doing,
        remaining_s=now.remaining_s,  # nobody knows how long it waits
    )
