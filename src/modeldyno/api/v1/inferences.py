"""``/api/v1/models/{model_id}/try``: let a model run once."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Request, Response
from pydantic import Field
from starlette.concurrency import run_in_threadpool

from modeldyno.api.v1.shape import Id, RequestBody, answer, gives
from modeldyno.core.documents.failures import FailureDocument
from modeldyno.core.documents.models import AttemptDocument, InferenceDocument
from modeldyno.core.errors import ModeldynoError
from modeldyno.core.ids import ModelId
from modeldyno.core.requests.measuring import Word
from modeldyno.core.results import Failure
from modeldyno.services.inferences import PendingInference

if TYPE_CHECKING:
    from modeldyno.services.inferences import InferenceService


class TryRequest(RequestBody):
    engine: Word | None = Field(None, description="Null: the first that reads the model.")
    batch_size: Annotated[int, Field(ge=1, le=1_000_000)] = 1


def router(inferences: InferenceService) -> APIRouter:
    routes = APIRouter(tags=["models"])

    @routes.post("/models/{model_id}/try", **gives(AttemptDocument, 404, 409, 413))
    async def try_model(model_id: Id, body: TryRequest, request: Request) -> Response:
        """Load it and run it once, in a worker of its own with all the walls around it, within a
        minute. What goes wrong in there is in `failure`. It stops when the client disconnects."""
        begin = inferences.start
        engine = body.engine or ""
        attempt = await run_in_threadpool(begin, ModelId(model_id), engine, body.batch_size)
        return await _wait_for_result(attempt, request)

    return routes


async def _wait_for_result(attempt: PendingInference, request: Request) -> Response:
    """Whatever happens, nothing keeps running for a client that is gone."""
    ends = asyncio.create_task(run_in_threadpool(_make_document, attempt))
    gone = asyncio.create_task(_wait_until_disconnected(request))
    try:
        await asyncio.wait((ends, gone), return_when=asyncio.FIRST_COMPLETED)
        if not ends.done():
            attempt.cancel()
        return answer(await asyncio.shield(ends))
    except asyncio.CancelledError:  # the server is being stopped
        attempt.cancel()
        raise
    finally:
        gone.cancel()


async def _wait_until_disconnected(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _make_document(attempt: PendingInference) -> AttemptDocument:
    """The attempt is over then, and closed."""
    try:
        return AttemptDocument(inference=InferenceDocument.of(attempt.result()))
    except ModeldynoError as error:
        return AttemptDocument(failure=FailureDocument.redacted(Failure.of(error)))
    finally:
        attempt.close()
