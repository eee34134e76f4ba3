"""``/api/v1/models/{model_id}/try``: let a model run once."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Request, Response
from pydantic import Field
from starlette.concurrency import run_in_threadpool

from modeldyno.api.v1.shape import Asked, Id, Told, answer, problems
from modeldyno.api.v1.summaries import FailurePart, failure_of
from modeldyno.core.errors import ModeldynoError
from modeldyno.core.ids import ModelId
from modeldyno.core.inferences import InferenceResult
from modeldyno.core.models import TensorSpec
from modeldyno.core.redaction import without_folders
from modeldyno.core.requests.measuring import Word
from modeldyno.core.results import Failure
from modeldyno.services.inferences import Attempt

if TYPE_CHECKING:
    from modeldyno.services.inferences import InferenceService


class TryAsked(Asked):
    engine: Word | None = Field(None, description="Null: the first that reads the model.")
    batch_size: Annotated[int, Field(ge=1, le=1_000_000)] = 1


class TensorTold(Told):
    name: str = Field(examples=["x"])
    dtype: str = Field(examples=["float32"])
    shape: list[int] | None = Field(
        description="Null of a list or a map of tensors.", examples=[[1, 3, 224, 224]]
    )


class InferenceTold(Told):
    engine: str = Field(examples=["onnxruntime"])
    engine_version: str = Field(examples=["1.22.0"])
    device: str = Field(examples=["cpu"])
    precision: str | None = Field(examples=["fp32"])
    batch_size: int = Field(description="As it ran.", examples=[1])
    load_ms: float = Field(examples=[31.0])
    first_ms: float = Field(
        description="The very first call, which may compile and allocate.", examples=[9.2]
    )
    ms: float = Field(description="The call after it: no measurement.", examples=[4.1])
    inputs: list[TensorTold] = Field(description="As it was fed.")
    outputs: list[TensorTold]
    notes: list[str] = Field(description="What was guessed, and the like.")


class TriedTold(Told):
    """Exactly one of the two."""

    inference: InferenceTold | None
    failure: FailurePart | None = Field(description="Why it did not work, and what to do.")


def router(inferences: InferenceService) -> APIRouter:
    routes = APIRouter(tags=["models"])

    @routes.post(
        "/models/{model_id}/try", response_model=TriedTold, responses=problems(404, 409, 413)
    )
    async def try_model(model_id: Id, asked: TryAsked, request: Request) -> Response:
        """Load it and run it once, in a worker of its own with all the walls around it, within a
        minute. What goes wrong in there is told in `failure`. Who goes away stops it."""
        begin = inferences.begin
        engine = asked.engine or ""
        attempt = await run_in_threadpool(begin, ModelId(model_id), engine, asked.batch_size)
        return await _awaited(attempt, request)

    return routes


async def _awaited(attempt: Attempt, request: Request) -> Response:
    """Whatever happens, nothing runs on for nobody."""
    ends = asyncio.create_task(run_in_threadpool(_told, attempt))
    gone = asyncio.create_task(_leaves(request))
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


async def _leaves(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _told(attempt: Attempt) -> dict[str, Any]:
    """As TriedTold describes; the attempt is over then, and closed."""
    try:
        found = attempt.result()
    except ModeldynoError as error:
        return {"inference": None, "failure": failure_of(vars(Failure.of(error)))}
    else:
        return {"inference": _inference(found), "failure": None}
    finally:
        attempt.close()


def _inference(found: InferenceResult) -> dict[str, Any]:
    return {
        "engine": found.engine,
        "engine_version": found.engine_version,
        "device": found.device,
        "precision": found.precision,
        "batch_size": found.batch_size,
        "load_ms": found.load_s * 1e3,
        "first_ms": found.first_call_s * 1e3,
        "ms": found.call_s * 1e3,
        "inputs": [_tensor(one) for one in found.inputs],
        "outputs": [_tensor(one) for one in found.outputs],
        "notes": [without_folders(note) for note in found.notes],
    }


def _tensor(one: TensorSpec) -> dict[str, Any]:
    return {
        "name": one.name,
        "dtype": one.dtype,
        "shape": None if one.shape is None else list(one.shape),
    }
