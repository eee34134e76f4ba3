"""The queue, as rows: what waits, in which order and why, and who works on what."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sqlalchemy import Connection, func, insert, select, update

from modeldyno.core.codec import encode
from modeldyno.core.errors import NotFound, WrongState
from modeldyno.core.ids import JobId, ProjectId, RunId
from modeldyno.core.jobs import Job, JobOwner
from modeldyno.core.results import Failure
from modeldyno.core.runs import ACTIVE, Page, RunOf, RunState, Wanted
from modeldyno.store.database import Database
from modeldyno.store.moves import end_of_queue, find_run, move_run
from modeldyno.store.pages import Sorting, dated, page_of
from modeldyno.store.records.events import add_event, add_events
from modeldyno.store.records.rows import Clock, utc_now, value_of
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


class JobRecords:
    def __init__(self, database: Database, clock: Clock = utc_now) -> None:
        self._database = database
        self._clock = clock

    def add(self, run_id: RunId, priority: int = 0, request_id: str | None = None) -> Job:
        """Put a queued run at the end of the queue; raises WrongState when it is none."""
        now = self._clock()
        with self._database.writing() as connection:
            run = find_run(connection, run_id)
            known = connection.scalar(select(JOBS.c.id).where(JOBS.c.run_id == run_id))
            if run.state != "queued" or known is not None:
                raise WrongState(
                    f"Run {run_id} cannot be put in the queue",
                    why="it is there already" if known else f"it is {run.state}",
                )
            row = {"run_id": run_id, "state": "queued", "priority": priority, "reason": ""}
            row |= {"position": end_of_queue(connection), "attempts": 0, "queued_at": now}
            row |= {"request_id": request_id}
            number = connection.scalar(insert(JOBS).values(row).returning(JOBS.c.id)) or 0
            _tell(connection, number, run.project_id, now)
            return _find(connection, number)

    def get(self, number: JobId) -> Job:
        with self._database.reading() as connection:
            return _find(connection, number)

    def cancel_waiting(self, number: JobId) -> Job:
        """Cancelled, if it only waits; as it is, if it does not. Nobody claims it in between."""
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
        with self._database.reading() as connection:
            return connection.scalar(query) or 0

    def next(self) -> Job | None:
        """The one to start when something can be started."""
        query = _QUERY.where(JOBS.c.state == "queued").order_by(*_ORDER).limit(1)
        with self._database.reading() as connection:
            row = connection.execute(query).one_or_none()
        return _job(row) if row else None

    def of_run(self, run_id: RunId) -> Job | None:
        with self._database.reading() as connection:
            row = connection.execute(_QUERY.where(JOBS.c.run_id == run_id)).one_or_none()
        return _job(row) if row else None

    def in_order(self) -> tuple[list[RunOf], list[RunOf]]:
        """What runs, and what waits in the order in which it will be started; in one query."""
        query = _QUERY.where(JOBS.c.state.in_(ACTIVE)).order_by(*_ORDER)
        with self._database.reading() as connection:
            rows = connection.execute(query).all()
        found = [(row.state, RunOf(row.kind, row.of_id)) for row in rows]
        return (
            [of for state, of in found if state == "running"],
            [of for state, of in found if state == "queued"],
        )

    def with_untold_end(self) -> tuple[tuple[Job, RunOf], ...]:
        """Those whose end nobody has told to who asked for them, and whose runs they are."""
        query = _QUERY.order_by(JOBS.c.id)
        query = query.where(JOBS.c.request_id.is_not(None), JOBS.c.state.not_in(ACTIVE))
        with self._database.reading() as connection:
            rows = connection.execute(query).all()
        return tuple((_job(row), RunOf(row.kind, row.of_id)) for row in rows)

    def forget_request(self, run_id: RunId) -> None:
        """Its end was told; nothing happens when there is no such job."""
        with self._database.writing() as connection:
            mine = (JOBS.c.run_id == run_id, JOBS.c.request_id.is_not(None))
            connection.execute(update(JOBS).where(*mine).values(request_id=None))

    def waiting(self) -> tuple[Job, ...]:
        """In the order in which they will be started."""
        query = _QUERY.where(JOBS.c.state == "queued").order_by(*_ORDER)
        with self._database.reading() as connection:
            return tuple(_job(row) for row in connection.execute(query))

    def running(self) -> tuple[Job, ...]:
        query = _QUERY.where(JOBS.c.state == "running").order_by(JOBS.c.id)
        with self._database.reading() as connection:
            return tuple(_job(row) for row in connection.execute(query))

    def claim(self, number: JobId, owner: JobOwner) -> Job:
        """From queued to running, by one process; raises WrongState for all others."""
        with self._database.writing() as connection:
            job = _find(connection, number)
            if job.state != "queued":
                raise WrongState(f"Job {number} cannot be started", why=f"it is {job.state}")
            move_run(connection, job.run_id, "running", self._clock())
            values = {
                "owner_host": owner.host,
                "owner_boot_id": owner.boot_id,
                "owner_pid": owner.pid,
                "owner_started": owner.started,
                "reason": "",
            }
            connection.execute(update(JOBS).where(JOBS.c.id == number).values(values))
            return _find(connection, number)

    def move(
        self, number: JobId, after: RunState, reason: str = "", failure: Failure | None = None
    ) -> Job:
        """Any other legal move, and why."""
        more = {"failure": encode(failure)} if failure else {}
        now = self._clock()
        with self._database.writing() as connection:
            job = _find(connection, number)
            move_run(connection, job.run_id, after, now, **more)
            connection.execute(update(JOBS).where(JOBS.c.id == number).values(reason=reason))
            return _find(connection, number)

    def explain(self, number: JobId, reason: str) -> Job:
        """Why it waits; said only when that is new."""
        with self._database.writing() as connection:
            job = _find(connection, number)
            if job.reason != reason:
                connection.execute(update(JOBS).where(JOBS.c.id == number).values(reason=reason))
                _tell(connection, number, job.project_id, self._clock())
            return _find(connection, number)

    def run_next(self, number: JobId) -> Job:
        """Before everything else that waits."""
        with self._database.writing() as connection:
            job = _find(connection, number)
            if job.state != "queued":
                raise WrongState(f"Job {number} does not wait", why=f"it is {job.state}")
            waits = JOBS.c.state == "queued"
            top, first = connection.execute(
                select(func.max(JOBS.c.priority), func.min(JOBS.c.position)).where(waits)
            ).one()
            values = {"priority": top, "position": min(first, job.position) - 1}
            connection.execute(update(JOBS).where(JOBS.c.id == number).values(values))
            _tell(connection, number, job.project_id, self._clock())
            return _find(connection, number)

    def place(self, number: JobId, place: int) -> Job:
        """Where it stands among those that wait, from 1; beyond the end is the end."""
        with self._database.writing() as connection:
            job = _find(connection, number)
            if job.state != "queued":
                raise WrongState(f"Job {number} does not wait", why=f"it is {job.state}")
            others = [other for other in self.waiting() if other.id != number]
            others.insert(place - 1, job)
            top = max(other.priority for other in others)
            for position, other in enumerate(others, start=1):
                values = {"priority": top, "position": position}
                connection.execute(update(JOBS).where(JOBS.c.id == other.id).values(values))
            _tell(connection, number, job.project_id, self._clock())
            return _find(connection, number)

    def tell_changed(self, jobs: Iterable[Job]) -> None:
        """Of what changed outside the database, such as why they wait."""
        with self._database.writing() as connection:
            told = [(job.project_id, {"id": job.id}) for job in jobs]
            add_events(connection, "job.changed", told, self._clock())

    def page(self, wanted: Wanted | None = None) -> Page[Job]:
        wanted = wanted or Wanted()
        query = _QUERY
        if wanted.project_id is not None:
            query = query.where(RUNS.c.project_id == wanted.project_id)
        if wanted.engine is not None:
            query = query.where(RUNS.c.engine == wanted.engine)
        if wanted.state is not None:
            query = query.where(JOBS.c.state == wanted.state)
        if wanted.text:
            query = query.where(JOBS.c.run_id.contains(wanted.text, autoescape=True))
        query = dated(query, wanted, JOBS.c.queued_at)
        with self._database.reading() as connection:
            return page_of(connection, query, wanted, _SORTINGS, JOBS.c.id, _job)


def _tell(connection: Connection, number: int, project_id: int, now: Any) -> None:
    add_event(connection, "job.changed", project_id, {"id": number}, now)


def _find(connection: Connection, number: int) -> Job:
    row = None
    if 0 < number < 2**31:
        row = connection.execute(_QUERY.where(JOBS.c.id == number)).one_or_none()
    if row is None:
        raise NotFound(f"There is no job {number}", fix="Ask for the list of jobs")
    return _job(row)


def _job(row: Any) -> Job:
    owner = None
    if row.owner_host is not None:
        owner = JobOwner(row.owner_host, row.owner_boot_id, row.owner_pid, row.owner_started)
    return value_of(Job, row, owner=owner)
