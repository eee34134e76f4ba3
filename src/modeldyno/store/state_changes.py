"""Changes of state of a run, its job and its runnable; nothing else changes them.

All of it, the event included, is in the caller's transaction, so whoever gets the event sees the
change.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import Connection, bindparam, delete, exists, func, select, update

from modeldyno.core.errors import NotFound, WrongState
from modeldyno.core.ids import RunId
from modeldyno.core.runs import ACTIVE, RunState, may_move
from modeldyno.store.documents import REVISION, read_summary_json, summary_to_columns
from modeldyno.store.kinds import KINDS
from modeldyno.store.records.events import add_event
from modeldyno.store.schema import dump_json
from modeldyno.store.tables import CELLS, CORE_LEASES, JOBS, RUNNABLES, RUNS

WITH_OWNER = select(RUNS, RUNNABLES.c.number.label("of_id")).join(
    RUNNABLES, RUNNABLES.c.id == RUNS.c.runnable_id
)
_FIGURES = ("state", "engine", "typical_s", "throughput_per_s", "document", "revision")


def _select_newest_run(*columns: Any) -> Any:
    query = select(*columns).where(RUNS.c.runnable_id == bindparam("runnable"))
    return query.order_by(RUNS.c.created_at.desc(), RUNS.c.id.desc()).limit(1)


_LATEST = _select_newest_run(
    RUNS.c.id.label("latest_run_id"),
    RUNS.c.created_at.label("last_run_at"),
    *(RUNS.c[name] for name in _FIGURES),
)
_HAS_CELLS = exists().where(CELLS.c.run_id == RUNS.c.id)
_SHOWN = _select_newest_run(RUNS.c.id).where(_HAS_CELLS)
_MEASURED = _select_newest_run(RUNS.c.id).where(_HAS_CELLS.where(CELLS.c.typical_s.is_not(None)))
_CELLS = select(CELLS).where(CELLS.c.run_id == bindparam("run")).order_by(CELLS.c.number)
_OWN = select(RUNNABLES.c.kind, RUNNABLES.c.spec).where(RUNNABLES.c.id == bindparam("runnable"))


def move_run(
    connection: Connection, run_id: RunId, after: RunState, now: datetime, **more: Any
) -> None:
    """``more`` are further columns of the run; raises WrongState, NotFound."""
    run = find_run(connection, run_id)
    if not may_move(run.state, after):
        raise WrongState(
            f"Run {run_id} cannot become {after}",
            why=f"it is {run.state}",
            fix=_advise_for_state(run.state),
        )
    enter_state(connection, run, after, now, **more)


def enter_state(
    connection: Connection,
    run: Any,
    after: RunState,
    now: datetime,
    *,
    quiet: bool = False,
    **more: Any,
) -> None:
    """Without a check whether that is allowed: for ``move_run``, and for runs of the terminal."""
    values: dict[str, Any] = {"state": after, **more}
    if after in ACTIVE:  # it may be resumed: an earlier end no longer counts
        values |= {"finished_at": None, "failure": None}
    if after == "running":
        values["started_at"] = now
    elif after not in ACTIVE:
        values.setdefault("finished_at", _later_of(run.started_at, now))
    connection.execute(update(RUNS).where(RUNS.c.id == run.id).values(values))
    _move_job(connection, run.id, after, _later_of(run.started_at, now))
    copy_latest_figures(connection, run.runnable_id)
    if quiet:
        return
    payload = {"run_id": run.id, "state": after, "kind": run.kind, "id": run.of_id}
    add_event(connection, "run.changed", run.project_id, payload, now)


def _later_of(earlier: datetime | None, now: datetime) -> datetime:
    """Nothing ends before it began, even if the clock was set back."""
    return now if earlier is None else max(earlier, now)


def _move_job(connection: Connection, run_id: str, after: RunState, now: datetime) -> None:
    values: dict[str, Any] = {"state": after, "finished_at": None if after in ACTIVE else now}
    if after == "running":
        values |= {"started_at": now, "attempts": JOBS.c.attempts + 1}
    else:  # no process runs it, and its cores are free at once
        values |= dict.fromkeys(("owner_host", "owner_boot_id", "owner_pid", "owner_started"))
        jobs = select(JOBS.c.id).where(JOBS.c.run_id == run_id)
        connection.execute(delete(CORE_LEASES).where(CORE_LEASES.c.job_id.in_(jobs)))
    if after == "queued":  # resumed: at the end of the queue
        values |= {"position": next_queue_place(connection), "queued_at": now}
    connection.execute(update(JOBS).where(JOBS.c.run_id == run_id).values(values))


def next_queue_place(connection: Connection) -> int:
    last = connection.scalar(select(func.max(JOBS.c.position)).where(JOBS.c.state == "queued"))
    return 1 if last is None else last + 1


def find_run(connection: Connection, run_id: RunId) -> Any:
    """With ``of_id``, the number of its runnable; raises NotFound."""
    row = None
    if run_id.isascii() and run_id.isprintable():  # databases refuse some other characters
        row = connection.execute(WITH_OWNER.where(RUNS.c.id == run_id)).one_or_none()
    if row is None:
        raise NotFound(f"There is no run {run_id!r}", fix="Ask for the list of runs")
    return row


def copy_latest_figures(connection: Connection, runnable_id: int) -> None:
    """Copy the figures of the latest run to the runnable."""
    changed = update(RUNNABLES).where(RUNNABLES.c.id == runnable_id)
    connection.execute(changed.values(read_columns_of_latest_run(connection, runnable_id)))


def read_columns_of_latest_run(connection: Connection, runnable_id: int) -> dict[str, Any]:
    """The columns of a runnable that follow from its runs."""
    parameters = {"runnable": runnable_id}
    own = connection.execute(_OWN, parameters).one()
    kind = KINDS[own.kind]
    latest = connection.execute(_LATEST, parameters).one_or_none()
    if latest is None:
        summary = summary_to_columns(kind.draft(own.spec))
        values = {"state": "draft", "last_run_at": None, "latest_run_id": None, **summary}
    else:
        values = latest._asdict() | {"document": read_summary_json(latest), "revision": REVISION}
    shown_run = connection.scalar(_SHOWN, parameters)
    cells = connection.execute(_CELLS, {"run": shown_run}).all() if shown_run else ()
    return values | {
        "shown_run_id": shown_run,
        "measured_run_id": connection.scalar(_MEASURED, parameters),
        "outline": dump_json(kind.outline(own.spec, cells)),
    }


def _advise_for_state(state: RunState) -> str:
    match state:
        case "queued" | "running":
            return "Wait until it ends, or cancel it"
        case "done":
            return "Run it again: that makes a new run"
        case _:
            return "Resume it, or run it again"
