"""Core leases of a server: locked as everywhere, and shown in the database with their job."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator

from modeldyno.core.errors import ModeldynoError
from modeldyno.core.ids import JobId
from modeldyno.core.queue import JobOwner
from modeldyno.jobs.leases import Lease, Leases, Say
from modeldyno.store.records.leases import CoreLeases
from modeldyno.worker.launch import Stop

logger = logging.getLogger(__name__)


class ShownLeases(Leases):
    """The kernel's locks decide. Rows that say otherwise are of a process that is gone, since we
    would not have the lock."""

    def __init__(self, rows: CoreLeases) -> None:
        super().__init__()
        self._rows = rows
        self._shown: tuple[JobId, JobOwner] | None = None

    @contextlib.contextmanager
    def shown_as(self, job_id: JobId, owner: JobOwner) -> Iterator[None]:
        self._shown = (job_id, owner)
        try:
            yield
        finally:
            self._shown = None

    @contextlib.contextmanager
    def take(self, count: int, stop: Stop, say: Say) -> Iterator[Lease]:
        with super().take(count, stop, say) as lease:
            shown = self._shown
            self._show(lease)
            try:
                yield lease
            finally:
                if shown is not None:
                    self._hide(shown[0])

    def _show(self, lease: Lease) -> None:
        if self._shown is None:
            return
        try:  # what we measure does not depend on who can see it
            self._rows.take(*self._shown, lease.cpus)
        except ModeldynoError:
            logger.exception("the lease of cores %s is not shown", lease.cpus)

    def _hide(self, job_id: JobId) -> None:
        try:
            self._rows.release(job_id)
        except ModeldynoError:
            logger.exception("the lease of job %s is still shown", job_id)
