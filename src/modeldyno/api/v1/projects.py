"""``/api/v1/projects``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from fastapi import APIRouter, Response
from pydantic import Field

from modeldyno.api.v1.idempotency import once
from modeldyno.api.v1.paging import ListAsked, PageTold, listed, parameters, told
from modeldyno.api.v1.shape import Asked, Id, Moment, Name, Told, problems
from modeldyno.core.ids import ProjectId
from modeldyno.core.projects import Project

if TYPE_CHECKING:
    from modeldyno.workbench import Server


class ProjectsAsked(ListAsked):
    sort: Literal["created", "name"] = "created"


class ProjectAsked(Asked):
    name: Name = Field(examples=["ResNet on the edge box"])


class ProjectTold(Told):
    id: int = Field(examples=[1])
    name: str = Field(examples=["ResNet on the edge box"])
    created_at: Moment
    modified_at: Moment | None


class ProjectDetails(ProjectTold):
    counts: dict[str, int] = Field(
        description="How many of each kind of thing it has.",
        examples=[{"model": 1, "benchmark": 3}],
    )


def router(server: Server) -> APIRouter:
    projects = server.records.projects
    routes = APIRouter(prefix="/projects", tags=["projects"])

    @routes.get("", responses=problems(), openapi_extra=parameters(ProjectsAsked))
    def list_projects(
        asked: Annotated[ProjectsAsked, listed(ProjectsAsked)],
    ) -> PageTold[ProjectTold]:
        """Newest first unless asked otherwise."""
        return told(projects.page(asked.wanted()), _told)

    @routes.post("", status_code=201, responses=problems(409, 413))
    @once(server)
    def create_project(asked: ProjectAsked, response: Response) -> ProjectTold:
        """A new one, empty; several may have the same name."""
        made = projects.add(asked.name)
        response.headers["Location"] = f"/api/v1/projects/{made.id}"
        return _told(made)

    @routes.post("/demo", responses=problems(409, 507))
    def get_or_make_demo() -> ProjectTold:
        """The demo project, made and put into the queue when there is none: a comparison of two
        engines, a benchmark and a profile of a small model. Asked again, it is the same one."""
        return _told(server.demo.get_or_make())

    @routes.get("/{project_id}", responses=problems(404))
    def get_project(project_id: Id) -> ProjectDetails:
        """With how many of each kind of thing it has."""
        found = projects.get(ProjectId(project_id))
        counts = projects.counts(found.id)
        return ProjectDetails(**_told(found).model_dump(), counts=counts)

    @routes.patch("/{project_id}", responses=problems(404, 413))
    def rename_project(project_id: Id, asked: ProjectAsked) -> ProjectTold:
        """Its name is all that changes."""
        return _told(projects.rename(ProjectId(project_id), asked.name))

    @routes.delete("/{project_id}", status_code=204, responses=problems(404, 409))
    def delete_project(project_id: Id, cascade: bool = False) -> None:
        """With `cascade`, everything in it goes along; else only an empty one can be deleted."""
        with server.archive.deleting():
            projects.delete(ProjectId(project_id), cascade=cascade)

    return routes


def _told(project: Project) -> ProjectTold:
    return ProjectTold(
        id=project.id,
        name=project.name,
        created_at=project.created_at,
        modified_at=project.modified_at,
    )
