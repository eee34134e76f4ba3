"""``/api/v1/projects``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from fastapi import APIRouter, Response
from pydantic import Field

from modeldyno.api.schemas import page_schema, response_schemas, schema_reference
from modeldyno.api.v1.idempotency import once
from modeldyno.api.v1.paging import ListRequest, listed, query_parameters
from modeldyno.api.v1.runs import EXPORT_TEXTS, attachment_headers
from modeldyno.api.v1.shape import (
    MOST_ID,
    Id,
    Name,
    RequestBody,
    answer,
    documented_problems,
    gives,
    gives_nothing,
    page_response,
)
from modeldyno.core.documents.projects import ProjectDocument
from modeldyno.core.documents.reports import ReportDocument
from modeldyno.core.ids import BenchmarkId, ProjectId
from modeldyno.core.projects import Project
from modeldyno.services.exports import Format

if TYPE_CHECKING:
    from modeldyno.services.archive import Archive
    from modeldyno.services.exports import ExportService
    from modeldyno.services.projects import ProjectService
    from modeldyno.store.records.all import Records


class ListProjectsRequest(ListRequest):
    sort: Literal["created", "name"] = "created"


class NewProjectRequest(RequestBody):
    name: Name = Field(examples=["ResNet on the edge box"])
    is_draft: bool = Field(
        False, description="Not listed before it is named; forgotten after a day."
    )


class EditProjectRequest(RequestBody):
    """What is not sent stays."""

    name: Name | None = Field(None, description="Turns a draft into a normal project.")
    baseline_benchmark_id: Annotated[int, Field(ge=1, le=MOST_ID)] | None = Field(
        None, description="Null: none any more.", examples=[3]
    )
    accept_noisy: bool = Field(False, description="Of a baseline whose numbers are not sure.")


_REPORTED = response_schemas("A file to keep.", schema_reference(ReportDocument), *EXPORT_TEXTS)


def router(
    records: Records,
    service: ProjectService,
    exports: ExportService,
    archive: Archive,
) -> APIRouter:
    projects = records.projects
    routes = APIRouter(prefix="/projects", tags=["projects"])

    @routes.get(
        "", **gives(page_schema(Project)), openapi_extra=query_parameters(ListProjectsRequest)
    )
    def list_projects(
        request: Annotated[ListProjectsRequest, listed(ListProjectsRequest)],
    ) -> Response:
        """Newest first unless asked otherwise."""
        # As dictionaries: of dataclasses the same JSON takes twice as long.
        return page_response(projects.page(request.wanted()), vars)

    @routes.post("", **gives(Project, 409, 413, status=201))
    @once(records)
    def create_project(request: NewProjectRequest) -> Response:
        """A new one, empty; several may have the same name. A draft is for who sends a model first,
        and names the project when it is known to work."""
        made = projects.add(request.name, is_draft=request.is_draft)
        return answer(made, 201, location=f"/api/v1/projects/{made.id}")

    @routes.get("/{project_id}", **gives(ProjectDocument, 404))
    def get_project(project_id: Id) -> Response:
        """With how many of each kind of thing it has."""
        project = projects.get(ProjectId(project_id))
        counts = projects.counts(project.id)
        return answer(ProjectDocument.from_fields(project, counts=counts))

    @routes.get(
        "/{project_id}/report",
        response_class=Response,
        responses=_REPORTED | documented_problems(404),
    )
    def report_project(project_id: Id, format: Format = "html") -> Response:
        """The latest result of every benchmark, comparison and profile in it, as one file: a page
        to read, without scripts, Markdown, JSON, or a table of all cells."""
        file = exports.report(ProjectId(project_id), format)
        return Response(
            file.text, headers=attachment_headers(file.name), media_type=file.media_type
        )

    @routes.patch("/{project_id}", **gives(Project, 404, 409, 413))
    def edit_project(project_id: Id, request: EditProjectRequest) -> Response:
        """Its name, and the benchmark that others are held against. One whose numbers are not sure
        is refused (409, `BASELINE_NOISY`) unless `accept_noisy` says otherwise."""
        number = ProjectId(project_id)
        with records.database.writing():
            if "baseline_benchmark_id" in request.model_fields_set:
                chosen = request.baseline_benchmark_id
                baseline = None if chosen is None else BenchmarkId(chosen)
                service.set_baseline(number, baseline, accept_noisy=request.accept_noisy)
            if request.name is not None:
                projects.rename(number, request.name)
            return answer(projects.get(number))

    @routes.delete("/{project_id}", **gives_nothing(404, 409))
    def delete_project(project_id: Id, cascade: bool = False) -> None:
        """With `cascade`, everything in it goes along; else only an empty one can be deleted."""
        with archive.translated_deletion():
            projects.delete(ProjectId(project_id), cascade=cascade)

    return routes
