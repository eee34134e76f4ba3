"""Which job has which core of which machine. The kernel's locks (``jobs/leases.py``) decide; these
rows only show it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import asdict
from typing import Any

from sqlalchemy import delete, insert, select

from modeldyno.core.errors import NotFound
from modeldyno.core.ids import JobId
from modeldyno.core.jobs import CoreLease, JobOwner
from modeldyno.store.owners import is_gone
from modeldyno.store.records.rows import Repository, dataclass_from_row
from modeldyno.store.tables import CORE_LEASES, JOBS


class CoreLeaseRecords(Repository):
    def take(self, job_id: JobId, owner: JobOwner, cores: Collection[int]) -> tuple[CoreLease, ...]:
        """Take all of these cores, or none: returns the leases of other jobs that are in the way.

        Leases of processes that have ended do not count.
        """
        now = self._clock()
        with self._database.writing() as connection:
            if connection.scalar(select(JOBS.c.id).where(JOBS.c.id == job_id)) is None:
                raise NotFound(f"There is no job {job_id}")
            theirs = (
                CORE_LEASES.c.host == owner.host,
                CORE_LEASES.c.core.in_(cores),
                CORE_LEASES.c.job_id != job_id,
            )
            rows = connection.execute(select(CORE_LEASES).where(*theirs)).all()
            held = [lease for row in rows if not is_gone((lease := _lease_from_row(row)).owner)]
            if held:
                return tuple(sorted(held, key=lambda lease: lease.core))
            connection.execute(delete(CORE_LEASES).where(*theirs))
            connection.execute(delete(CORE_LEASES).where(CORE_LEASES.c.job_id == job_id))
            if cores:
                owned = asdict(owner) | {"job_id": job_id, "taken_at": now}
                new = [owned | {"core": core} for core in set(cores)]
                connection.execute(insert(CORE_LEASES), new)
            return ()

    def release(self, job_id: JobId) -> None:
        with self._database.writing() as connection:
            connection.execute(delete(CORE_LEASES).where(CORE_LEASES.c.job_id == job_id))

    def release_ended(self) -> None:
        """Release the cores of jobs that are not running."""
        runs = select(JOBS.c.id).where(JOBS.c.state == "running")
        with self._database.writing() as connection:
            connection.execute(delete(CORE_LEASES).where(CORE_LEASES.c.job_id.not_in(runs)))

    def held(self, host: str | None = None) -> tuple[CoreLease, ...]:
        query = select(CORE_LEASES).order_by(CORE_LEASES.c.host, CORE_LEASES.c.core)
        if host is not None:
            query = query.where(CORE_LEASES.c.host == host)
        return tuple(map(_lease_from_row, self._fetch_all(query)))


def _lease_from_row(row: Any) -> CoreLease:
    return dataclass_from_row(CoreLease, row, owner=dataclass_from_row(JobOwner, row))
