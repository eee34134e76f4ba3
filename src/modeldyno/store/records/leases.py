"""Which job has which core of which machine. The kernel's locks (``jobs/leases.py``) decide; these
rows let everybody see it."""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy import delete, insert, select

from modeldyno.core.errors import NotFound
from modeldyno.core.ids import JobId
from modeldyno.core.queue import CoreLease, JobOwner
from modeldyno.store.database import Database
from modeldyno.store.owners import is_gone
from modeldyno.store.records.finding import Clock, utc_now
from modeldyno.store.tables import CoreLeases as Rows
from modeldyno.store.tables import Jobs


class CoreLeases:
    def __init__(self, database: Database, clock: Clock = utc_now) -> None:
        self._database = database
        self._clock = clock

    def take(self, job_id: JobId, owner: JobOwner, cores: Collection[int]) -> tuple[CoreLease, ...]:
        """All of them, or none: then those that others have are returned. Empty: they are yours.

        A process that is gone has none any more, whatever its rows say.
        """
        now = self._clock()
        with self._database.writing() as connection:
            if connection.scalar(select(Jobs.id).where(Jobs.id == job_id)) is None:
                raise NotFound(f"There is no job {job_id}")
            theirs = (
                Rows.host == owner.host,
                Rows.core.in_(cores),
                Rows.job_id != job_id,
            )
            rows = connection.execute(select(*Rows.__table__.c).where(*theirs)).all()
            held = [lease for row in rows if not is_gone((lease := _lease(row)).owner)]
            if held:
                return tuple(sorted(held, key=lambda lease: lease.core))
            connection.execute(delete(Rows).where(*theirs))
            connection.execute(delete(Rows).where(Rows.job_id == job_id))
            owned = {"host": owner.host, "job_id": job_id, "boot_id": owner.boot_id}
            owned |= {"pid": owner.pid, "started": owner.started, "taken_at": now}
            if cores:
                connection.execute(insert(Rows), [owned | {"core": core} for core in set(cores)])
            return ()

    def release(self, job_id: JobId) -> None:
        with self._database.writing() as connection:
            connection.execute(delete(Rows).where(Rows.job_id == job_id))

    def release_ended(self) -> None:
        """Those of jobs that do not run; nobody may be at work on one of them."""
        runs = select(Jobs.id).where(Jobs.state == "running")
        with self._database.writing() as connection:
            connection.execute(delete(Rows).where(Rows.job_id.not_in(runs)))

    def held(self, host: str | None = None) -> tuple[CoreLease, ...]:
        query = select(*Rows.__table__.c).order_by(Rows.host, Rows.core)
        if host is not None:
            query = query.where(Rows.host == host)
        with self._database.reading() as connection:
            return tuple(_lease(row) for row in connection.execute(query))


def _lease(row: object) -> CoreLease:
    found = row._mapping  # type: ignore[attr-defined]  # a row of the query above
    owner = JobOwner(found["host"], found["boot_id"], found["pid"], found["started"])
    return CoreLease(found["host"], found["core"], found["job_id"], owner, found["taken_at"])
