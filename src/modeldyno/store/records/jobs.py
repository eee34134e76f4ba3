"""The queue: which jobs wait, in which order and why, and which process runs which job."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sqlalchemy import Connection, bindparam, func, insert, select, update

from modeldyno.core.codec import encode
from modeldyno.core.errors import WrongState
from modeldyno.core.ids import JobId, ProjectId, RunId
from modeldyno.core.jobs import Job, JobOwner
from modeldyno.core.results import Failure
from modeldyno.core.runs import ACTIVE, ListQuery, Page, RunOf, RunState
from modeldyno.store.pages import Sorting, filter_by_date, read_page
from modeldyno.store.records.events import add_event, add_events
from modeldyno.store.records.rows import Repository, dataclass_from_row, read_row_by_number
from modeldyno.store.state_changes import find_run, move_run, next_queue_place
from modeldyno.store.tables import JOBS, RUNNABLES, RUNS

_SORTINGS = {"created": Sorting(JOBS.c.queued_at), "state": Sorting(JOBS.c.state)}
_ORDER = (JOBS.c.priority.desc(), JOBS.c.position, JOBS.c.id)
_QUERY = (
    select(
        JOBS,
        RUNS.c.kind,
        RUNS.c.project_id,
        RUNNABLES.c.number.label("of_id"),
        RUNNABLES.c.name,
    )
    .join(RUNS, RUNS.c.id == JOBS.c.run_id)
    .join(RUNNABLES, RUNNABLES.c.id == RUNS.c.runnable_id)
)
_BY_NUMBER = _QUERY.where(JOBS.c.id == bindparam("number"))
_OWNER_COLUMNS = ("host", "boot_id", "pid", "started")


class JobRecords(Repository):
    def add(self, run_id: RunId, priority: int = 0, request_id: str | None = None) -> Job:
        """Put a queued run at the end of the queue; raises WrongState unless it is one."""
        now = self._clock()
        with self._database.writing() as connection:
            run = find_run(connection, run_id)
            job_id = connection.scalar(select(JOBS.c.id).where(JOBS.c.run_id == run_id))
            if run.state != "queued" or job_id is not None:
                raise WrongState(
                    f"Run {run_id} cannot be put in the queue",
                    why="it already exists" if job_id else f"it is {run.state}",
                )
            row = insert(JOBS).values(
                run_id=run_id,
                state="queued",
                priority=priority,
                reason="",
                position=next_queue_place(connection),
                attempts=0,
                queued_at=now,
                request_id=request_id,
            )
            number = connection.scalars(row.returning(JOBS.c.id)).one()
            add_event(connection, "job.changed", run.project_id, {"id": number}, now)
            return _find(connection, number)

    def get(self, number: JobId) -> Job:
        with self._database.reading() as connection:
            return _find(connection, number)

    def cancel_waiting(self, number: JobId) -> Job:
        """Cancel the job if it waits; otherwise it stays as it is."""
        with self._database.writing() as connection:
            job = _find(connection, number)
            if job.state != "queued":
                return job
            return self.move(number, "cancelled", "cancelled while it waited")

    def count_waiting(self, project_id: ProjectId | None = None) -> int:
        query = select(func.count()).select_from(JOBS).where(JOBS.c.state == "queued")
        if project_id is not None:
            query = query.join(RUNS, RUNS.c.id == JOBS.c.run_id).where(
                RUNS.c.project_id == project_id
            )
        return self._fetch_first(query)[0] or 0

    def next(self) -> Job | None:
        """The job to start first."""
        row = self._fetch_first(_QUERY.where(JOBS.c.state == "queued").order_by(*_ORDER))
        return _job_from_row(row) if row else None

    def find_of_run(self, run_id: RunId) -> Job | None:
        row = self._fetch_first(_QUERY.where(JOBS.c.run_id == run_id))
        return _job_from_row(row) if row else None

    def list_owners_in_order(self) -> tuple[list[RunOf], list[RunOf]]:
        """What runs, and what waits, in the order in which it will start; in one query."""
        query = _QUERY.where(JOBS.c.state.in_(ACTIVE)).order_by(*_ORDER)
        owners: dict[str, list[RunOf]] = {"running": [], "queued": []}
        for row in self._fetch_all(query):
            owners[row.state].append(RunOf(row.kind, row.of_id))
        return owners["running"], owners["queued"]

    def list_with_unannounced_end(self) -> tuple[tuple[Job, RunOf], ...]:
        """Ended jobs whose end was not announced yet, with the runnable of each."""
        query = _QUERY.order_by(JOBS.c.id)
        query = query.where(JOBS.c.request_id.is_not(None), JOBS.c.state.not_in(ACTIVE))
        return tuple(
            (_job_from_row(row), RunOf(row.kind, row.of_id)) for row in self._fetch_all(query)
        )

    def forget_request(self, run_id: RunId) -> None:
        """The requester knows of its end; does nothing if there is no such job."""
        with self._database.writing() as connection:
            is_it = (JOBS.c.run_id == run_id, JOBS.c.request_id.is_not(None))
            connection.execute(update(JOBS).where(*is_it).values(request_id=None))

    def waiting(self) -> tuple[Job, ...]:
        """In the order in which they will start."""
        query = _QUERY.where(JOBS.c.state == "queued").order_by(*_ORDER)
        return tuple(map(_job_from_row, self._fetch_all(query)))

    def running(self) -> tuple[Job, ...]:
        query = _QUERY.where(JOBS.c.state == "running").order_by(JOBS.c.id)
        return tuple(map(_job_from_row, self._fetch_all(query)))

    def claim(self, number: JobId, owner: JobOwner) -> Job:
        """From queued to running, for one process; raises WrongState for all others."""
        with self._database.writing() as connection:
            job = _find(connection, number)
            if job.state != "queued":
                raise WrongState(f"Job {number} cannot be started", why=f"it is {job.state}")
            move_run(connection, job.run_id, "running", self._clock())
            values = {f"owner_{name}": getattr(owner, name) for name in _OWNER_COLUMNS}
            return _update_job(connection, number, reason="", **values)

    def move(
        self, number: JobId, after: RunState, reason: str = "", failure: Failure | None = None
    ) -> Job:
        """Any other legal change of state, with its reason."""
        more = {"failure": encode(failure)} if failure else {}
        now = self._clock()
        with self._database.writing() as connection:
            job = _find(connection, number)
            move_run(connection, job.run_id, after, now, **more)
            return _update_job(connection, number, reason=reason)

    def set_reason(self, number: JobId, reason: str) -> Job:
        """Record why it waits; an event follows only if the reason is new."""
        with self._database.writing() as connection:
            job = _find(connection, number)
            if job.reason == reason:
                return job
            self._add_event(connection, job)
            return _update_job(connection, number, reason=reason)

    def run_next(self, number: JobId) -> Job:
        """Move the job to the front of the queue."""
        with self._database.writing() as connection:
            job = _find_waiting(connection, number)
            waits = JOBS.c.state == "queued"
            top, first = connection.execute(
                select(func.max(JOBS.c.priority), func.min(JOBS.c.position)).where(waits)
            ).one()
            self._add_event(connection, job)
            position = min(first, job.position) - 1
            return _update_job(connection, number, priority=top, position=position)

    def place(self, number: JobId, place: int) -> Job:
        """Give the job this place in the queue, from 1; the last one if it is too large."""
        with self._database.writing() as connection:
            job = _find_waiting(connection, number)
            others = [other for other in self.waiting() if other.id != number]
            others.insert(place - 1, job)
            top = max(other.priority for other in others)
            for position, other in enumerate(others, start=1):
                values = {"priority": top, "position": position}
                connection.execute(update(JOBS).where(JOBS.c.id == other.id).values(values))
            self._add_event(connection, job)
            return _find(connection, number)

    def announce_changed(self, jobs: Iterable[Job]) -> None:
        """Add events for jobs of which something outside the database changed."""
        with self._database.writing() as connection:
            changes = [(job.project_id, {"id": job.id}) for job in jobs]
            add_events(connection, "job.changed", changes, self._clock())

    def page(self, list_query: ListQuery | None = None) -> Page[Job]:
        list_query = list_query or ListQuery()
        query = _QUERY
        if list_query.project_id is not None:
            query = query.where(RUNS.c.project_id == list_query.project_id)
        if list_query.engine is not None:
            query = query.where(RUNS.c.engine == list_query.engine)
        if list_query.state is not None:
            query = query.where(JOBS.c.state == list_query.state)
        if list_query.text:
            query = query.where(JOBS.c.run_id.contains(list_query.text, autoescape=True))
        query = filter_by_date(query, list_query, JOBS.c.queued_at)
        with self._database.reading() as connection:
            return read_page(connection, query, list_query, _SORTINGS, JOBS.c.id, _job_from_row)

    def _add_event(self, connection: Connection, job: Job) -> None:
        add_event(connection, "job.changed", job.project_id, {"id": job.id}, self._clock())


def _find(connection: Connection, number: int) -> Job:
    return _job_from_row(read_row_by_number(connection, "job", number, _BY_NUMBER))


def _find_waiting(connection: Connection, number: int) -> Job:
    job = _find(connection, number)
    if job.state != "queued":
        raise WrongState(f"Job {number} does not wait", why=f"it is {job.state}")
    return job


def _update_job(connection: Connection, number: int, **values: Any) -> Job:
    connection.execute(update(JOBS).where(JOBS.c.id == number).values(values))
    return _find(connection, number)


def _job_from_row(row: Any) -> Job:
    owner = None
    if row.owner_host is not None:
        owner = JobOwner(*(getattr(row, f"owner_{name}") for name in _OWNER_COLUMNS))
    return dataclass_from_row(Job, row, owner=owner)
