"""``/api/v1/jobs``."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Literal

from fastapi import APIRouter, Response
from pydantic import Field

from modeldyno.api.schemas import page_schema
from modeldyno.api.v1.logs import LOG, Limit, Offset, log_answer
from modeldyno.api.v1.paging import ListRequest, OfRuns, listed, query_parameters
from modeldyno.api.v1.shape import (
    Id,
    RequestBody,
    answer,
    documented_problems,
    gives,
    page_response,
)
from modeldyno.core.documents.runs import JobDocument, ProgressDocument
from modeldyno.core.ids import JobId
from modeldyno.core.names import name_of_file
from modeldyno.core.redaction import without_folders
from modeldyno.services.jobs import JobStatus
from modeldyno.services.progress import JobProgress
from modeldyno.services.run_logs import read_chunk

if TYPE_CHECKING:
    from modeldyno.services.jobs import JobService


class PlaceJobRequest(RequestBody):
    place: Annotated[int, Field(ge=1, le=1_000_000)] = Field(
        description="From 1; beyond the end is the end.", examples=[2]
    )


class ListJobsRequest(ListRequest, OfRuns):
    sort: Literal["created", "state"] = "created"


def router(jobs: JobService) -> APIRouter:
    routes = APIRouter(prefix="/jobs", tags=["jobs"])

    @routes.get(
        "", **gives(page_schema(JobDocument)), openapi_extra=query_parameters(ListJobsRequest)
    )
    def list_jobs(request: Annotated[ListJobsRequest, listed(ListJobsRequest)]) -> Response:
        """Those put in the queue last come first; `text` is sought in the run's id."""
        return page_response(jobs.page(request.wanted()), job_document)

    @routes.get("/{job_id}", **gives(JobDocument, 404))
    def get_job(job_id: Id) -> Response:
        """Its place in the queue and why it waits, or how far it is."""
        return answer(job_document(jobs.get(JobId(job_id))))

    @routes.post("/{job_id}/cancel", **gives(JobDocument, 404))
    def cancel_job(job_id: Id) -> Response:
        """What waits is cancelled now, what runs within two seconds; what it measured is kept.
        What is over stays as it is."""
        return answer(job_document(jobs.cancel(JobId(job_id))))

    @routes.post("/{job_id}/resume", **gives(JobDocument, 404, 409))
    def resume_job(job_id: Id) -> Response:
        """Go on with what failed, was cancelled or interrupted: what it measured counts."""
        return answer(job_document(jobs.resume(JobId(job_id))))

    @routes.post("/{job_id}/next", **gives(JobDocument, 404, 409))
    def run_job_next(job_id: Id) -> Response:
        """Before everything else that waits."""
        return answer(job_document(jobs.run_next(JobId(job_id))))

    @routes.put("/{job_id}/place", **gives(JobDocument, 404, 409, 413))
    def place_job(job_id: Id, request: PlaceJobRequest) -> Response:
        """Move it up or down among those that wait."""
        return answer(job_document(jobs.place(JobId(job_id), request.place)))

    @routes.get(
        "/{job_id}/log",
        response_class=Response,
        responses=LOG | documented_problems(404),
        summary="Job Log",
    )
    def get_job_log(job_id: Id, offset: Offset = 0, limit: Limit = 64 << 10) -> Response:
        """What its workers printed."""
        return log_answer(read_chunk(jobs.log_path(JobId(job_id)), offset, limit))

    return routes


def job_document(status: JobStatus) -> JobDocument:
    progress = None if status.standing is None else progress_document(status.standing)
    return JobDocument.from_fields(
        status.job, place=status.place, reason=without_folders(status.reason), progress=progress
    )


def progress_document(standing: JobProgress) -> ProgressDocument:
    progress = standing.progress
    if progress is not None:
        progress = replace(progress, doing=without_folders(progress.doing))
    headline = name_of_file(standing.headline) if standing.headline else ""
    notices = tuple(map(without_folders, standing.notices))
    return ProgressDocument.of(progress, standing.units_planned, headline=headline, notices=notices)
