"""Core leases of a server: locked as usual, and listed in the database with their job."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from modeldyno.core import figures
from modeldyno.core.ids import JobId
from modeldyno.core.jobs import JobOwner
from modeldyno.jobs.latest_writes import LatestWrites
from modeldyno.jobs.leases import FOLDER, Core, Lease, Leases, OnWait
from modeldyno.measure.cpus import allowed_cpus, core_siblings, thread_ids
from modeldyno.store.records.jobs import JobRecords
from modeldyno.store.records.leases import CoreLeaseRecords
from modeldyno.worker.launch import Stop


class ServerLeases(Leases):
    """The kernel's locks decide; rows in the database only list them, and no job waits for those.

    A job takes cores for each of its sessions, mostly the same ones. So its row stays between two
    sessions, and is removed when the job has to wait for cores, or ends.
    """

    def __init__(
        self,
        rows: CoreLeaseRecords,
        jobs: JobRecords,
        writes: LatestWrites,
        folder: Path = FOLDER,
        cores: Sequence[Core] | None = None,
    ) -> None:
        super().__init__(folder, cores)
        self._rows = rows
        self._jobs = jobs
        self._writes = writes
        self._affinity = ServerAffinity()
        self._job: tuple[JobId, JobOwner] | None = None
        self._listed: tuple[int, ...] = ()
        self._waited_s = 0.0
        self._waiting_since: float | None = None

    @contextlib.contextmanager
    def held_by(self, job_id: JobId, owner: JobOwner) -> Iterator[None]:
        """Leases taken in this block are this job's."""
        self._job, self._listed = (job_id, owner), ()
        self._waited_s, self._waiting_since = 0.0, None
        try:
            yield
        finally:
            self._job = None
            self._writes.clear()  # the job's end removes its rows; they must not come back

    def waited_s(self) -> float:
        """How long this job has waited for cores so far."""
        since = self._waiting_since
        return self._waited_s + (time.monotonic() - since if since is not None else 0.0)

    @contextlib.contextmanager
    def take(self, count: int, stop: Stop, on_wait: OnWait) -> Iterator[Lease]:
        def wait(why: str) -> None:
            self._show_waiting(why)
            on_wait(why)

        try:
            with super().take(count, stop, wait) as lease:
                if lease.waited_s:
                    self._add_wait(lease.waited_s)
                    on_wait(f"waited {figures.duration(lease.waited_s)} for cores")
                self._record_leases(lease.cpus)
                yield replace(lease, note=self._affinity.keep_off(lease.cpus))
        finally:
            self._waiting_since = None
            self._affinity.restore()

    def _show_waiting(self, why: str) -> None:
        if self._waiting_since is None:
            self._waiting_since = time.monotonic()
        if self._job is None:
            return
        job_id, _ = self._job
        self._listed = ()
        self._writes.put("cores", lambda: self._rows.release(job_id))
        self._writes.put("reason", lambda: self._jobs.set_reason(job_id, why))

    def _add_wait(self, waited_s: float) -> None:
        # First: counting it twice for a moment is better than not at all.
        self._waited_s += waited_s
        self._waiting_since = None
        if self._job is not None:
            job_id, _ = self._job
            self._writes.put("reason", lambda: self._jobs.set_reason(job_id, ""))

    def _record_leases(self, cpus: tuple[int, ...]) -> None:
        if self._job is None or cpus == self._listed:
            return
        job_id, owner = self._job
        self._listed = cpus
        self._writes.put("cores", lambda: self._rows.take(job_id, owner, cpus))


# ---------------------------------------------------------------- the server's own threads


FEWEST_CPUS = 4  # with fewer, too little is left for a server that people wait for
SHARED = "the server shares these cores: its own work may slow single calls, the floor least"


class ServerAffinity:
    """Called by the thread that starts workers. It stays on all CPUs, since workers inherit them;
    it sleeps while they measure."""

    def __init__(self, fewest_cpus: int = FEWEST_CPUS) -> None:
        self._fewest = fewest_cpus
        self._others: set[int] = set()  # CPUs of the other threads, if they were moved

    def keep_off(self, leased: Collection[int]) -> str:
        """Move off these CPUs and their siblings; returns a note for the result if that is not
        possible."""
        self.restore()
        ours = set(allowed_cpus())
        others = ours - {sibling for cpu in leased for sibling in core_siblings(cpu)}
        if not hasattr(os, "sched_setaffinity") or len(ours) < self._fewest or not others:
            return SHARED
        _move_threads(ours, others)
        self._others = others
        return ""

    def restore(self) -> None:
        if self._others:
            _move_threads(self._others, set(allowed_cpus()))
            self._others = set()


def _move_threads(before: set[int], after: set[int]) -> None:
    """All threads except the calling one and those that chose their own CPUs."""
    for thread in thread_ids():
        with contextlib.suppress(OSError):  # it has ended
            if thread != threading.get_native_id() and os.sched_getaffinity(thread) == before:
                os.sched_setaffinity(thread, after)
