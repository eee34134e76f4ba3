"""The latest run of what can be run, read along with it."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Select, select

from modeldyno.core.ids import JobId, RunId
from modeldyno.core.runs import LatestRun
from modeldyno.store.pages import Query
from modeldyno.store.tables import JOBS, OWNERS, RUNS

_Latest = RUNS.alias()
_TOLD = ("id", "state", "created_at", "started_at", "finished_at", "failure")


def told_of(columns: Any) -> list[Any]:
    """The columns that ``latest_run_of`` reads, under the names of the run itself."""
    return [columns[name] for name in _TOLD]


def newest(kind: str, number: Any) -> Select[str]:
    """The id of the run that came last."""
    query = select(RUNS.c.id).where(RUNS.c[f"{kind}_id"] == number)
    return query.order_by(RUNS.c.created_at.desc(), RUNS.c.id.desc()).limit(1)


def with_latest_run(query: Query, kind: str) -> Query:
    """The query of a thing, with its latest run and that one's job beside it."""
    owner = OWNERS[kind]
    latest = newest(kind, owner.c.id).correlate(owner).scalar_subquery()
    columns = [_Latest.c[name].label(f"latest_{name}") for name in _TOLD]
    return (
        query.add_columns(*columns, JOBS.c.id.label("latest_job_id"))
        .outerjoin(_Latest, _Latest.c.id == latest)
        .outerjoin(JOBS, JOBS.c.run_id == _Latest.c.id)
    )


def latest_run_of(row: Any) -> LatestRun | None:
    if row.latest_id is None:
        return None
    told = {name: getattr(row, f"latest_{name}") for name in _TOLD}
    job_id = None if row.latest_job_id is None else JobId(row.latest_job_id)
    return LatestRun(**told | {"id": RunId(row.latest_id)}, job_id=job_id)
