"""``/api/v1/demo``: a project for who has no model at hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from fastapi import APIRouter, Response
from pydantic import Field

from modeldyno.api.v1.idempotency import once
from modeldyno.api.v1.shape import Told, problems

if TYPE_CHECKING:
    from modeldyno.services.demo_project import DemoProject
    from modeldyno.store.records.all import Records


class DemoTold(Told):
    project_id: int = Field(examples=[1])


def router(records: Records, demo: DemoProject) -> APIRouter:
    routes = APIRouter(prefix="/demo", tags=["projects"])

    @routes.post("", status_code=201, response_model=DemoTold, responses=problems(507))
    @once(records, prepares=True)
    def create_demo(response: Response) -> Callable[[], DemoTold]:
        """A project with a small model that ships with Modeldyno, and in the queue a comparison of
        two engines, a benchmark and a profile of it. Needs no network. Asked again while that
        project is there, the answer is that project."""
        prepared = demo.prepared()

        def make() -> DemoTold:
            made = prepared()
            response.headers["Location"] = f"/api/v1/projects/{made.id}"
            return DemoTold(project_id=made.id)

        return make

    return routes
