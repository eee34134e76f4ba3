"""Models to try: named by the catalogue that ships with us, never by an address."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import fastapi
from fastapi import APIRouter, Response
from pydantic import Field

from modeldyno.api.errors import Refused, refusal_of
from modeldyno.api.v1.shape import Id, RequestBody, answer, gives
from modeldyno.core.documents.failures import FailureDocument
from modeldyno.core.errors import ExampleNotFound
from modeldyno.core.examples import (
    ExampleDocument,
    ExampleFetchesDocument,
    ExamplesDocument,
    FetchDocument,
)
from modeldyno.core.ids import ProjectId
from modeldyno.services.example_fetches import ExampleFetch
from modeldyno.store.examples import read_catalogue

if TYPE_CHECKING:
    from modeldyno.services.example_fetches import ExampleFetches
    from modeldyno.services.examples import ExampleService

Slug = Annotated[str, Field(min_length=1, max_length=100, examples=["onnx-squeezenet"])]
SlugInPath = Annotated[str, fastapi.Path(min_length=1, max_length=100, description="Its `slug`.")]


class ImportExampleRequest(RequestBody):
    example: Slug = Field(
        description="The `slug` of one that `GET /examples` lists.",
        json_schema_extra={"enum": [*read_catalogue()]},
    )


def router(examples: ExampleService, fetches: ExampleFetches) -> APIRouter:
    routes = APIRouter(tags=["examples"])

    @routes.get("/examples", **gives(ExamplesDocument))
    def list_examples() -> Response:
        """The whole catalogue; each says whether it can be had here, and if not, why."""
        statuses = examples.list()
        return answer(ExamplesDocument(examples=tuple(map(ExampleDocument.of, statuses))))

    @routes.get("/examples/{example}", **gives(ExampleFetchesDocument, 404))
    def get_example(example: SlugInPath) -> Response:
        """One of them, and how far it is on its way into projects."""
        status = examples.get(example)
        under_way = tuple(map(_make_document, fetches.of(status.example.slug)))
        document = ExampleDocument.of(status)
        return answer(ExampleFetchesDocument(example=document, fetches=under_way))

    @routes.post(
        "/projects/{project_id}/models/example",
        **gives(FetchDocument, 404, 413, status=202),
    )
    def add_example(project_id: Id, request: ImportExampleRequest) -> Response:
        """Bring an example into a project, in the background: `GET /examples/{example}` tells how
        far it is, and the event `model.created` that it is there. Asked again while it is under
        way, nothing more happens."""
        try:
            fetch = fetches.start(ProjectId(project_id), request.example)
        except ExampleNotFound as error:  # 404 would say that there is no such project
            raise Refused(replace(refusal_of(error), status=400)) from error
        return answer(_make_document(fetch), 202, location=f"/api/v1/examples/{fetch.example}")

    return routes


def _make_document(fetch: ExampleFetch) -> FetchDocument:
    return FetchDocument.from_fields(fetch, failure=FailureDocument.redacted(fetch.failure))
