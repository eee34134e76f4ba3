"""Rows of runs, of any kind. Their folders are in ``store/runs.py``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, delete, func, insert, select, update

from modeldyno.core.codec import encode
from modeldyno.core.documents.cells import CellDocument
from modeldyno.core.documents.runnables import SummaryDocument
from modeldyno.core.errors import BadValue, WrongState
from modeldyno.core.ids import RunId, new_run_id
from modeldyno.core.results import Failure, RunResult
from modeldyno.core.runs import ACTIVE, ListQuery, Page, Run, RunOf, RunState
from modeldyno.store.documents import (
    cell_to_columns,
    read_cell_json,
    read_summary_json,
    summary_to_columns,
)
from modeldyno.store.pages import Sorting, filter_by_date, read_page
from modeldyno.store.records.events import add_event
from modeldyno.store.records.rows import Repository, dataclass_from_row, find_row, is_of_kind_sql
from modeldyno.store.state_changes import WITH_OWNER, copy_latest_figures, find_run, move_run
from modeldyno.store.tables import CELLS, LINKS, MODELS, RUNNABLES, RUNS, TOMBSTONES

RUN_ID = re.compile(
    r"\d{8}-\d{6}-[0-9a-f]{6,}"
)  # also the name of the folder, so nothing else is allowed
_SORTINGS = {
    "created": Sorting(RUNS.c.created_at),
    "latency": Sorting(RUNS.c.typical_s, is_nullable=True),
    "state": Sorting(RUNS.c.state),
}


class RunRecords(Repository):
    def add(
        self,
        of: RunOf,
        spec: dict[str, Any],
        run_id: RunId | None = None,
        state: RunState = "queued",
        summary: SummaryDocument | None = None,
    ) -> Run:
        """Add an execution; its runnable shows this run from now on."""
        now = self._clock()
        with self._database.writing() as connection:
            name = insert_run(connection, of, spec, run_id or new_run_id(now), state, now, summary)
            return _run_from_row(find_run(connection, name))

    def get(self, run_id: RunId) -> Run:
        with self._database.reading() as connection:
            return _run_from_row(find_run(connection, run_id))

    def move(self, run_id: RunId, after: RunState, failure: Failure | None = None) -> Run:
        """Change its state, and add the event; raises WrongState if that is not allowed."""
        more = {"failure": encode(failure)} if failure else {}
        with self._database.writing() as connection:
            move_run(connection, run_id, after, self._clock(), **more)
            return _run_from_row(find_run(connection, run_id))

    def announce_cells(self, run_id: RunId) -> None:
        """Tell listeners that its cells are known, which are in its folder."""
        with self._database.writing() as connection:
            run = find_run(connection, run_id)
            payload, now = {"kind": run.kind, "id": run.of_id}, self._clock()
            add_event(connection, "runnable.changed", run.project_id, payload, now)

    def write_result(self, run_id: RunId, result: RunResult) -> None:
        """Write its result, whether or not it has ended; the state stays as it is."""
        with self._database.writing() as connection:
            run = find_run(connection, run_id)
            write_result(connection, run, result)
            copy_latest_figures(connection, run.runnable_id)

    def finish(
        self,
        run_id: RunId,
        summary: SummaryDocument,
        cells: Iterable[CellDocument] = (),
        state: RunState = "done",
        failure: Failure | None = None,
    ) -> Run:
        """Write its figures and its end in one transaction."""
        with self._database.writing() as connection:
            run = find_run(connection, run_id)
            _write_documents(connection, run, summary, cells, {}, None)
            more = {"failure": encode(failure)} if failure else {}
            move_run(connection, run_id, state, self._clock(), **more)
            return _run_from_row(find_run(connection, run_id))

    def cells(self, run_id: RunId) -> tuple[str, ...]:
        """A ``CellDocument`` of each cell, as JSON."""
        with self._database.reading() as connection:
            return read_cells_of_run(connection, run_id)

    def page(self, list_query: ListQuery | None = None, of: RunOf | None = None) -> Page[Run]:
        """Runs of everything, of a project, or of one runnable."""
        list_query = list_query or ListQuery()
        query = WITH_OWNER if of is None else WITH_OWNER.where(*_is_run_of_sql(of))
        for name in ("project_id", "engine", "state"):
            if getattr(list_query, name) is not None:
                query = query.where(RUNS.c[name] == getattr(list_query, name))
        if list_query.text:
            query = query.where(RUNS.c.id.contains(list_query.text, autoescape=True))
        query = filter_by_date(query, list_query, RUNS.c.created_at)
        with self._database.reading() as connection:
            return read_page(connection, query, list_query, _SORTINGS, RUNS.c.id, _run_from_row)

    def active(self, of: RunOf | None = None) -> tuple[Run, ...]:
        """Runs that have not ended."""
        query = WITH_OWNER.where(RUNS.c.state.in_(ACTIVE)).order_by(RUNS.c.id)
        if of is not None:
            query = query.where(*_is_run_of_sql(of))
        return tuple(map(_run_from_row, self._fetch_all(query)))

    def delete(self, run_id: RunId) -> None:
        """Delete this run alone; its runnable shows the one before. The folder is removed later."""
        now = self._clock()
        with self._database.writing() as connection:
            run = find_run(connection, run_id)
            if run.state in ACTIVE:
                raise WrongState(
                    f"Cannot delete run {run_id}", why="it has not ended", fix="Cancel it first"
                )
            connection.execute(delete(RUNS).where(RUNS.c.id == run_id))
            connection.execute(insert(TOMBSTONES).values(run_id=run_id, removed_at=now))
            copy_latest_figures(connection, run.runnable_id)
            payload = {"run_id": run_id, "kind": run.kind, "id": run.of_id}
            add_event(connection, "run.deleted", run.project_id, payload, now)

    def tombstones(self) -> tuple[RunId, ...]:
        """Deleted runs whose folders may still exist."""
        query = select(TOMBSTONES.c.run_id).order_by(TOMBSTONES.c.run_id)
        return tuple(RunId(row.run_id) for row in self._fetch_all(query))

    def forget_tombstone(self, run_id: RunId) -> None:
        """Once its folder has been removed."""
        with self._database.writing() as connection:
            connection.execute(delete(TOMBSTONES).where(TOMBSTONES.c.run_id == run_id))


def _is_run_of_sql(of: RunOf) -> tuple[Any, ...]:
    return is_of_kind_sql(of.kind), RUNNABLES.c.number == of.id


def insert_run(
    connection: Connection,
    of: RunOf,
    spec: dict[str, Any],
    run_id: RunId,
    state: RunState,
    now: datetime,
    summary: SummaryDocument | None = None,
    **more: Any,
) -> RunId:
    if not RUN_ID.fullmatch(run_id):
        raise BadValue(f"{run_id!r} is not the id of a run", fix="Let us choose one")
    if connection.scalar(select(RUNS.c.id).where(RUNS.c.id == run_id)) is not None:
        raise WrongState(f"Run {run_id} already exists")
    owner = find_row(connection, of.kind, of.id)
    if summary is None:
        summary = SummaryDocument.read(read_summary_json(owner)).without_figures()
    row = {"id": run_id, "project_id": owner.project_id, "kind": of.kind, "state": state}
    row |= {"runnable_id": owner.runnable_id, "spec": spec, **summary_to_columns(summary)}
    row |= {"created_at": _later_than_other_runs(connection, owner.runnable_id, now), **more}
    connection.execute(insert(RUNS).values(row))
    copy_latest_figures(connection, owner.runnable_id)
    payload = {"run_id": run_id, "state": state, "kind": of.kind, "id": of.id}
    add_event(connection, "run.created", owner.project_id, payload, now)
    return run_id


def _later_than_other_runs(connection: Connection, runnable_id: int, now: datetime) -> datetime:
    """Later than every other run of the runnable, even if the clock was set back."""
    query = select(func.max(RUNS.c.created_at)).where(RUNS.c.runnable_id == runnable_id)
    last = connection.scalar(query)
    return now if last is None else max(now, last + timedelta(microseconds=1))


def read_cells_of_run(connection: Connection, run_id: RunId) -> tuple[str, ...]:
    query = select(CELLS).where(CELLS.c.run_id == run_id).order_by(CELLS.c.number)
    return tuple(read_cell_json(row) for row in connection.execute(query))


def write_result(connection: Connection, run: Any, result: RunResult) -> None:
    """Replaces an earlier result: a resumed run ends more than once."""
    names = _names_by_path(connection, run.runnable_id, result)
    documents = (result.summary(), result.cell_documents(), names, result.host.machine)
    _write_documents(connection, run, *documents)
    values = {"tool_version": result.tool_version}
    connection.execute(update(RUNS).where(RUNS.c.id == run.id).values(values))


Documents = tuple[Any, ...]  # all columns that follow from a result


def make_documents(
    connection: Connection, run: Any, result: RunResult
) -> tuple[Documents, Documents]:
    """What the rows of a run should hold, and what they do hold."""
    names = _names_by_path(connection, run.runnable_id, result)
    machine = {"machine": result.host.machine}
    cells = [cell_to_columns(cell, names) | machine for cell in result.cell_documents()]
    query = select(CELLS).where(CELLS.c.run_id == run.id).order_by(CELLS.c.number)
    rows = [row._asdict() for row in connection.execute(query)]
    columns = [{name: row[name] for name in cells[0]} if cells else row for row in rows]
    summary = summary_to_columns(result.summary()) | machine
    return (summary, cells), ({name: getattr(run, name) for name in summary}, columns)


def _write_documents(
    connection: Connection,
    run: Any,
    summary: SummaryDocument,
    cells: Iterable[CellDocument],
    names: Mapping[str, str],
    machine: str | None,
) -> None:
    values = summary_to_columns(summary) | {"machine": machine}
    connection.execute(update(RUNS).where(RUNS.c.id == run.id).values(values))
    connection.execute(delete(CELLS).where(CELLS.c.run_id == run.id))
    own = {"run_id": run.id, "machine": machine}
    rows = [cell_to_columns(cell, names) | own for cell in cells]
    if rows:
        connection.execute(insert(CELLS), rows)


def _names_by_path(connection: Connection, runnable_id: int, result: RunResult) -> dict[str, str]:
    """Names by the paths in the result, which hold checksums for files that we store."""
    query = (
        select(MODELS.c.name)
        .join(LINKS, LINKS.c.model_id == MODELS.c.id)
        .where(LINKS.c.runnable_id == runnable_id)
        .order_by(LINKS.c.role)
    )
    names = connection.scalars(query)
    return dict(zip((model.path for model in result.models()), names, strict=False))


def _run_from_row(row: Any) -> Run:
    return dataclass_from_row(
        Run, row, of=RunOf(row.kind, row.of_id), summary_json=read_summary_json(row)
    )
