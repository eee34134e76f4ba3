"""Models to try: named by the catalogue that ships with us, never by an address."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import fastapi
from fastapi import APIRouter, Response
from pydantic import Field

from modeldyno.api.errors import Refused, refusal_of
from modeldyno.api.schemas import answers, reference
from modeldyno.api.v1.shape import Asked, Id, Told, answer, problems
from modeldyno.api.v1.summaries import FailurePart, failure_of
from modeldyno.core.documents.examples import ExampleDocument, ExamplesDocument
from modeldyno.core.errors import ExampleNotFound
from modeldyno.core.ids import ProjectId
from modeldyno.services.fetches import Fetch, FetchState
from modeldyno.store.examples import catalogue

if TYPE_CHECKING:
    from modeldyno.services.examples import ExampleService
    from modeldyno.services.fetches import Fetches

Slug = Annotated[str, Field(min_length=1, max_length=100, examples=["onnx-squeezenet"])]
SlugInPath = Annotated[str, fastapi.Path(min_length=1, max_length=100, description="Its `slug`.")]


class ExampleAsked(Asked):
    example: Slug = Field(
        description="The `slug` of one that `GET /examples` lists.",
        json_schema_extra={"enum": [*catalogue()]},
    )


class FetchTold(Told):
    project_id: int = Field(examples=[1])
    example: Slug
    state: FetchState
    done_bytes: int
    total_bytes: int | None = Field(description="Null as long as nobody has told.")
    model_id: int | None = Field(description="The model that became of it.")
    failure: FailurePart | None


class ExampleTold(Told):
    example: ExampleDocument
    fetches: list[FetchTold] = Field(description="The latest into each project.")


_EXAMPLES = answers("The catalogue.", reference(ExamplesDocument))


def router(examples: ExampleService, fetches: Fetches) -> APIRouter:
    routes = APIRouter(tags=["examples"])

    @routes.get("/examples", response_class=Response, responses=_EXAMPLES | problems())
    def list_examples() -> Response:
        """The whole catalogue; each says whether it can be had here, and if not, why."""
        shown = examples.list()
        return answer(ExamplesDocument(examples=tuple(map(ExampleDocument.of, shown))))

    @routes.get("/examples/{example}", response_model=ExampleTold, responses=problems(404))
    def get_example(example: SlugInPath) -> Response:
        """One of them, and how far it is on its way into projects."""
        shown = examples.get(example)
        on_their_way = [_fetch(fetch) for fetch in fetches.of(shown.example.slug)]
        return answer({"example": ExampleDocument.of(shown), "fetches": on_their_way})

    @routes.post(
        "/projects/{project_id}/models/example",
        status_code=202,
        response_model=FetchTold,
        responses=problems(404, 413),
    )
    def add_example(project_id: Id, asked: ExampleAsked) -> Response:
        """Bring an example into a project, in the background: `GET /examples/{example}` tells how
        far it is, and the event `model.created` that it is there. Asked again while it is under
        way, nothing more happens."""
        try:
            fetch = fetches.start(ProjectId(project_id), asked.example)
        except ExampleNotFound as error:  # 404 would say that there is no such project
            raise Refused(replace(refusal_of(error), status=400)) from error
        return answer(_fetch(fetch), 202, location=f"/api/v1/examples/{fetch.example}")

    return routes


def _fetch(fetch: Fetch) -> dict[str, Any]:
    return {**vars(fetch), "failure": failure_of(vars(fetch.failure) if fetch.failure else None)}
