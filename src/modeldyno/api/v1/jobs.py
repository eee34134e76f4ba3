"""``/api/v1/jobs``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from fastapi import APIRouter, Response
from pydantic import Field

from modeldyno.api.v1.logs import LOG, Limit, Offset, log_answer
from modeldyno.api.v1.paging import (
    ListAsked,
    OfRuns,
    PageTold,
    listed,
    page_answer,
    parameters,
)
from modeldyno.api.v1.shape import Asked, Id, Moment, Told, answer, problems
from modeldyno.api.v1.summaries import ms
from modeldyno.core.ids import JobId
from modeldyno.core.jobs import CellProgress
from modeldyno.core.names import name_of_file
from modeldyno.core.redaction import without_folders
from modeldyno.core.runs import RunKind, RunState
from modeldyno.services.jobs import JobShown
from modeldyno.services.logs import stretch
from modeldyno.services.progress import Standing

if TYPE_CHECKING:
    from modeldyno.services.jobs import JobService


class PlaceAsked(Asked):
    place: Annotated[int, Field(ge=1, le=1_000_000)] = Field(
        description="From 1; beyond the end is the end.", examples=[2]
    )


class JobsAsked(ListAsked, OfRuns):
    sort: Literal["created", "state"] = "created"


class CellProgressTold(Told):
    name: str = Field(examples=["onnxruntime · 1 core · batch 1"])
    sessions: int = Field(examples=[4])
    state: Literal["measuring", "done", "failed"]
    estimate_ms: float | None = Field(examples=[4.1])
    relative_half_width: float | None = Field(examples=[0.012])


class ProgressTold(Told):
    """Where a running job stands: units are sessions of cells, or pairs of a comparison."""

    headline: str = Field(examples=["resnet50.onnx"])
    units_done: int = Field(examples=[7])
    units_planned: int = Field(examples=[12])
    doing: str = Field(examples=["measuring onnxruntime · 1 core · batch 1"])
    estimate_ms: float | None = Field(description="The latency so far.", examples=[4.1])
    relative_half_width: float | None = Field(
        description="Half its interval, as a share of it.", examples=[0.012]
    )
    remaining_s: float | None = Field(description="About so long.", examples=[3.5])
    ratio: float | None = Field(description="Of a comparison: B's time by A's, so far.")
    cells: list[CellProgressTold]


class JobTold(Told):
    """A run that waits or executes; afterwards, what became of it."""

    id: int = Field(examples=[1])
    run_id: str = Field(examples=["20261115-095116-3fa9c1"])
    kind: RunKind
    of_id: int = Field(description="The benchmark's, comparison's … number.", examples=[7])
    name: str = Field(description="Of that benchmark, comparison …", examples=["resnet50.onnx"])
    project_id: int = Field(examples=[1])
    state: RunState
    place: int | None = Field(description="In the queue, from 1; null when it does not wait.")
    reason: str = Field(
        description="Why it waits, or what became of it.", examples=["waiting for job 3"]
    )
    priority: int = Field(description="Higher goes first.")
    attempts: int = Field(description="How often it was started.")
    queued_at: Moment
    started_at: Moment | None
    finished_at: Moment | None
    progress: ProgressTold | None = Field(description="Null when it does not run.")


def router(jobs: JobService) -> APIRouter:
    routes = APIRouter(prefix="/jobs", tags=["jobs"])

    @routes.get(
        "",
        response_model=PageTold[JobTold],
        responses=problems(),
        openapi_extra=parameters(JobsAsked),
    )
    def list_jobs(asked: Annotated[JobsAsked, listed(JobsAsked)]) -> Response:
        """Those put in the queue last come first; `text` is sought in the run's id."""
        return page_answer(jobs.page(asked.wanted()), job_of)

    @routes.get("/{job_id}", response_model=JobTold, responses=problems(404))
    def get_job(job_id: Id) -> Response:
        """Its place in the queue and why it waits, or how far it is."""
        return answer(job_of(jobs.get(JobId(job_id))))

    @routes.post("/{job_id}/cancel", response_model=JobTold, responses=problems(404))
    def cancel_job(job_id: Id) -> Response:
        """What waits is cancelled now, what runs within two seconds; what it measured is kept.
        What is over stays as it is."""
        return answer(job_of(jobs.cancel(JobId(job_id))))

    @routes.post("/{job_id}/resume", response_model=JobTold, responses=problems(404, 409))
    def resume_job(job_id: Id) -> Response:
        """Go on with what failed, was cancelled or interrupted: what it measured counts."""
        return answer(job_of(jobs.resume(JobId(job_id))))

    @routes.post("/{job_id}/next", response_model=JobTold, responses=problems(404, 409))
    def run_job_next(job_id: Id) -> Response:
        """Before everything else that waits."""
        return answer(job_of(jobs.run_next(JobId(job_id))))

    @routes.put("/{job_id}/place", response_model=JobTold, responses=problems(404, 409, 413))
    def place_job(job_id: Id, asked: PlaceAsked) -> Response:
        """Move it up or down among those that wait."""
        return answer(job_of(jobs.place(JobId(job_id), asked.place)))

    @routes.get(
        "/{job_id}/log", response_class=Response, responses=LOG | problems(404), summary="Job Log"
    )
    def get_job_log(job_id: Id, offset: Offset = 0, limit: Limit = 64 << 10) -> Response:
        """What its workers printed."""
        return log_answer(stretch(jobs.log(JobId(job_id)), offset, limit))

    return routes


def job_of(shown: JobShown) -> dict[str, Any]:
    """As JobTold describes."""
    job = shown.job
    return {
        "id": job.id,
        "run_id": job.run_id,
        "kind": job.kind,
        "of_id": job.of_id,
        "name": job.name,
        "project_id": job.project_id,
        "state": job.state,
        "place": shown.place,
        "reason": without_folders(shown.reason),
        "priority": job.priority,
        "attempts": job.attempts,
        "queued_at": job.queued_at,
        "started_at": job.started_at,
        "finished_at": job.finished_at,
        "progress": None if shown.standing is None else progress_of(shown.standing),
    }


def progress_of(standing: Standing) -> dict[str, Any]:
    """As ProgressTold describes."""
    found = standing.progress
    return {
        "headline": name_of_file(standing.headline) if standing.headline else "",
        "units_done": found.units_done if found else 0,
        "units_planned": found.units_planned if found else standing.units_planned,
        "doing": without_folders(found.doing) if found else "",
        "estimate_ms": ms(found.estimate_s) if found else None,
        "relative_half_width": found.relative_half_width if found else None,
        "remaining_s": found.remaining_s if found else None,
        "ratio": found.ratio if found else None,
        "cells": [_cell(cell) for cell in found.cells] if found else [],
    }


def _cell(cell: CellProgress) -> dict[str, Any]:
    return {
        "name": cell.name,
        "sessions": cell.sessions,
        "state": cell.state,
        "estimate_ms": ms(cell.estimate_s),
        "relative_half_width": cell.relative_half_width,
    }
