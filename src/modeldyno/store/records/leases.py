"""Which job has which core of which machine. The kernel's locks (``jobs/leases.py``) decide; these
rows let everybody see it."""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy import delete, insert, select

from modeldyno.core.errors import NotFound
from modeldyno.core.ids import JobId
from modeldyno.core.jobs import CoreLease, JobOwner
from modeldyno.store.database import Database
from modeldyno.store.owners import is_gone
from modeldyno.store.records.rows import Clock, utc_now
from modeldyno.store.tables import CORE_LEASES, JOBS


class CoreLeaseRecords:
    def __init__(self, database: Database, clock: Clock = utc_now) -> None:
        self._database = database
        self._clock = clock

    def take(self, job_id: JobId, owner: JobOwner, cores: Collection[int]) -> tuple[CoreLease, ...]:
        """All of them, or none: then those that others have are returned. Empty: they are yours.

        A process that is gone has none any more, whatever its rows say.
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
            held = [lease for row in rows if not is_gone((lease := _lease(row)).owner)]
            if held:
                return tuple(sorted(held, key=lambda lease: lease.core))
            connection.execute(delete(CORE_LEASES).where(*theirs))
            connection.execute(delete(CORE_LEASES).where(CORE_LEASES.c.job_id == job_id))
            owned = {"host": owner.host, "job_id": job_id, "boot_id": owner.boot_id}
            owned |= {"pid": owner.pid, "started": owner.started, "taken_at": now}
            if cores:
                connection.execute(
                    insert(CORE_LEASES), [owned | {"core": core} for core in set(cores)]
                )
            return ()

    def release(self, job_id: JobId) -> None:
        with self._database.writing() as connection:
            connection.execute(delete(CORE_LEASES).where(CORE_LEASES.c.job_id == job_id))

    def release_ended(self) -> None:
        """Those of jobs that do not run; nobody may be at work on one of them."""
        runs = select(JOBS.c.id).where(JOBS.c.state == "running")
        with self._database.writing() as connection:
            connection.execute(delete(CORE_LEASES).where(CORE_LEASES.c.job_id.not_in(runs)))

    def held(self, host: str | None = None) -> tuple[CoreLease, ...]:
        query = select(CORE_LEASES).order_by(CORE_LEASES.c.host, CORE_LEASES.c.core)
        if host is not None:
            query = query.where(CORE_LEASES.c.host == host)
        with self._database.reading() as connection:
            return tuple(_lease(row) for row in connection.execute(query))


def _lease(row: object) -> CoreLease:
    found = row._mapping  # type: ignore[attr-defined]  # a row of the query above
    owner = JobOwner(found["host"], found["boot_id"], found["pid"], found["started"])
    return CoreLease(found["host"], found["core"], found["job_id"], owner, found["taken_at"])
