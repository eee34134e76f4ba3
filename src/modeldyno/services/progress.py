"""Where each running job stands: the latest word only, told at most four times a second.

Progress is not kept. Whoever missed some asks for the job, and has the latest.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from modeldyno.core.ids import JobId
from modeldyno.core.jobs import Failed, Finished, JobMessage, Progress, Started
from modeldyno.core.queue import Job

APART_S = 0.25

Tell = Callable[[Job, "Standing"], None]


@dataclass(frozen=True)
class Standing:
    headline: str = ""
    units_planned: int = 0
    progress: Progress | None = None


class LiveProgress:
    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._standings: dict[JobId, Standing] = {}
        self._told_at: dict[JobId, float] = {}
        self._owed: dict[JobId, threading.Timer] = {}
        self._listeners: list[Tell] = []
        self._lock = threading.Lock()

    def on_progress(self, tell: Tell) -> None:
        """``tell`` is called in whatever thread has the news; it must be quick."""
        self._listeners.append(tell)

    def of(self, job_id: JobId) -> Standing | None:
        """None when it does not run."""
        return self._standings.get(job_id)

    def hear(self, job: Job, message: JobMessage) -> None:
        match message:
            case Started(headline=headline, units_planned=planned):
                self._change(job, Standing(headline, planned))
            case Progress():
                before = self._standings.get(job.id, Standing())
                self._change(job, replace(before, progress=message))
            case Finished() | Failed():
                self._forget(job.id)
            case _:
                pass

    def _change(self, job: Job, standing: Standing) -> None:
        with self._lock:
            self._standings[job.id] = standing
            if job.id in self._owed:  # the last value wins
                return
            wait_s = self._told_at.get(job.id, -APART_S) + APART_S - self._clock()
            if wait_s > 0:
                timer = self._owed[job.id] = threading.Timer(wait_s, self._pay, (job,))
                timer.daemon = True
                timer.start()
                return
            self._told_at[job.id] = self._clock()
        self._tell(job, standing)

    def _pay(self, job: Job) -> None:
        with self._lock:
            self._owed.pop(job.id, None)
            standing = self._standings.get(job.id)
            self._told_at[job.id] = self._clock()
        if standing is not None:
            self._tell(job, standing)

    def _tell(self, job: Job, standing: Standing) -> None:
        for listener in self._listeners:
            listener(job, standing)

    def _forget(self, job_id: JobId) -> None:
        with self._lock:
            self._standings.pop(job_id, None)
            self._told_at.pop(job_id, None)
            if timer := self._owed.pop(job_id, None):
                timer.cancel()
