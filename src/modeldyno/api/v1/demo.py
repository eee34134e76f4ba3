"""``/api/v1/demo``: a project for people without a model at hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from fastapi import APIRouter, Response

from modeldyno.api.v1.idempotency import once
from modeldyno.api.v1.shape import answer, gives
from modeldyno.core.documents.projects import DemoDocument

if TYPE_CHECKING:
    from modeldyno.services.demo_project import DemoProject
    from modeldyno.store.records.all import Records


def router(records: Records, demo: DemoProject) -> APIRouter:
    routes = APIRouter(prefix="/demo", tags=["projects"])

    @routes.post("", **gives(DemoDocument, 507, status=201))
    @once(records, prepares=True)
    def create_demo() -> Callable[[], Response]:
        """A project with a small model that ships with Modeldyno, and in the queue a comparison of
        two engines, a benchmark and a profile of it. Needs no network. Asked again while that
        project is there, the answer is that project."""
        prepared = demo.prepare()

        def make() -> Response:
            made = prepared()
            document = DemoDocument(project_id=made.id)
            return answer(document, 201, location=f"/api/v1/projects/{made.id}")

        return make

    return routes
