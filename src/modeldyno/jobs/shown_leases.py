"""Core leases of a server: locked as everywhere, and shown in the database with their job."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from modeldyno.core import figures
from modeldyno.core.ids import JobId
from modeldyno.core.queue import JobOwner
from modeldyno.jobs.aside import Aside
from modeldyno.jobs.elsewhere import Elsewhere
from modeldyno.jobs.leases import FOLDER, Core, Lease, Leases, Say
from modeldyno.store.records.jobs import Jobs
from modeldyno.store.records.leases import CoreLeases
from modeldyno.worker.launch import Stop


class ShownLeases(Leases):
    """The kernel's locks decide; rows let everybody see it. They are written beside the job.

    A job takes cores for each of its sessions, mostly the same ones. So its row stays between two
    sessions, and goes when the job has to wait for cores, or ends.
    """

    def __init__(
        self,
        rows: CoreLeases,
        jobs: Jobs,
        aside: Aside,
        folder: Path = FOLDER,
        cores: Sequence[Core] | None = None,
    ) -> None:
        super().__init__(folder, cores)
        self._rows = rows
        self._jobs = jobs
        self._aside = aside
        self._elsewhere = Elsewhere()
        self._job: tuple[JobId, JobOwner] | None = None
        self._shown: tuple[int, ...] = ()
        self._waited_s = 0.0
        self._waits_since: float | None = None

    @contextlib.contextmanager
    def shown_as(self, job_id: JobId, owner: JobOwner) -> Iterator[None]:
        """Whatever is taken meanwhile is taken for this job."""
        self._job, self._shown = (job_id, owner), ()
        self._waited_s, self._waits_since = 0.0, None
        try:
            yield
        finally:
            self._job = None
            self._aside.settle()  # its rows go with the job's end, and must not come back

    def waited_s(self) -> float:
        """How long this job has waited for cores, until now."""
        since = self._waits_since
        return self._waited_s + (time.monotonic() - since if since is not None else 0.0)

    @contextlib.contextmanager
    def take(self, count: int, stop: Stop, say: Say) -> Iterator[Lease]:
        def wait(why: str) -> None:
            self._wait(why)
            say(why)

        try:
            with super().take(count, stop, wait) as lease:
                if lease.waited_s:
                    self._go_on(lease.waited_s)
                    say(f"waited {figures.duration(lease.waited_s)} for cores")
                self._show(lease.cpus)
                yield replace(lease, note=self._elsewhere.move(lease.cpus))
        finally:
            self._waits_since = None
            self._elsewhere.back()

    def _wait(self, why: str) -> None:
        if self._waits_since is None:
            self._waits_since = time.monotonic()
        if self._job is None:
            return
        job_id, _ = self._job
        self._shown = ()
        self._aside.wish("cores", lambda: self._rows.release(job_id))
        self._aside.wish("reason", lambda: self._jobs.explain(job_id, why))

    def _go_on(self, waited_s: float) -> None:
        self._waited_s += waited_s  # first: too much for a moment is better than too little
        self._waits_since = None
        if self._job is not None:
            job_id, _ = self._job
            self._aside.wish("reason", lambda: self._jobs.explain(job_id, ""))

    def _show(self, cpus: tuple[int, ...]) -> None:
        if self._job is None or cpus == self._shown:
            return
        job_id, owner = self._job
        self._shown = cpus
        self._aside.wish("cores", lambda: self._rows.take(job_id, owner, cpus))
