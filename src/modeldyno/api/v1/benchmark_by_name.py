"""``GET /api/v1/benchmark/{model_name}``: measure a model by its name, and wait for the result.

Its answers have a shape of their own, errors too: clients of such endpoints read ``status`` and
``message``. The measurement is a job like any other. A waiting client takes no thread, and its job
is cancelled when it disconnects.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal

from anyio import CapacityLimiter, to_thread
from fastapi import APIRouter, Path, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import BaseModel, ConfigDict, Field
from starlette.concurrency import run_in_threadpool

from modeldyno.api.errors import (
    STOPPING,
    Refusal,
    Refused,
    named_document,
    named_refusal,
    validation_refusal,
)
from modeldyno.api.schemas import response_schemas, schema_reference
from modeldyno.api.v1.paging import queried, query_parameters
from modeldyno.api.v1.shape import WORDS, answer
from modeldyno.core.documents.benchmark_by_name import (
    MeasuredByNameDocument,
    MeasuredOnDevicesDocument,
    RefusedByNameDocument,
)
from modeldyno.core.errors import BadValue, ModeldynoError, NameAmbiguous, TimedOut, TooBusy
from modeldyno.core.jobs import Job
from modeldyno.core.names import LONGEST_PATH
from modeldyno.core.requests.measuring import BenchmarkRequest
from modeldyno.core.requests.texts import parse_int, parse_pairs
from modeldyno.core.results import Failure as RunFailure
from modeldyno.jobs.recording import error_of
from modeldyno.services.benchmark_by_name import BenchmarkByName, MeasurementByName

if TYPE_CHECKING:
    from modeldyno.services.benchmark_by_name import BenchmarkByName
    from modeldyno.services.run_end_callbacks import RunEndCallbacks

LOOK_AGAIN_S = 5.0  # should a word about its end be lost
MOST_DEVICES = 8
_STATUSES = (400, 401, 403, 404, 409, 422, 429, 503, 507)

Handler = Callable[[Request], Coroutine[Any, Any, Response]]
Ended = Literal["over", "left", "late"]


class MeasureByNameRequest(BaseModel):
    """What may stand in the query."""

    model_config = ConfigDict(extra="forbid")

    device: Annotated[
        str,
        Field(
            min_length=1,
            max_length=100,
            description="`cpu`, `cuda`, `cuda:1`, `mps` …, in any case; several, with commas "
            "between them, give `results`.",
            examples=["cpu"],
        ),
    ] = "cpu"
    iterations: Annotated[int, Field(ge=1, le=100_000, description="Timed calls, exactly.")] = 100
    warmup: Annotated[int, Field(ge=0, le=100_000, description="Calls before those.")] = 10
    batch_size: Annotated[int, Field(ge=1, le=1_000_000, description="Samples in a call.")] = 1
    cores: Annotated[int, Field(ge=1, le=4096, description="CPU cores to use.")] = 1
    engine: Annotated[
        str,
        Field(max_length=50, description="The first one that can read the model, unless you say."),
    ] = ""
    dim: Annotated[
        list[Annotated[str, Field(max_length=300)]],
        Field(
            max_length=32,
            description="Size of a dimension that the model leaves open; may be said again for "
            "another one.",
            examples=[["seq=16"]],
        ),
    ] = []
    timeout_s: Annotated[
        int,
        Field(ge=1, le=3600, description="How long to wait, in the queue too; then it is stopped."),
    ] = 600

    @property
    def is_list(self) -> bool:
        return "," in self.device

    def request(self) -> BenchmarkRequest:
        devices = [device.strip().lower() for device in self.device.split(",") if device.strip()]
        if not 1 <= len(devices) <= MOST_DEVICES:
            raise BadValue(
                "That is not a list of devices", fix=f"Name up to {MOST_DEVICES}, as in cpu,cuda"
            )
        return BenchmarkRequest(
            engines=(self.engine,) if self.engine else (),
            batch_sizes=(self.batch_size,),
            cores=(self.cores,),
            devices=tuple(dict.fromkeys(devices)),
            dims=dict(self._dims()),
            iterations=self.iterations,
            warmup=self.warmup,
        )

    def _dims(self) -> dict[str, int]:
        try:
            pairs = parse_pairs("dim", self.dim)
            return {name: parse_int(f"dim={name}", text) for name, text in pairs.items()}
        except BadValue as error:
            raise BadValue(error.title, fix="Write dim=NAME=SIZE, as in dim=seq=16") from error


_REFUSED = schema_reference(RefusedByNameDocument)
_MEASURED = {
    "anyOf": [schema_reference(MeasuredByNameDocument), schema_reference(MeasuredOnDevicesDocument)]
}
_RESPONSES = response_schemas("One device, or several.", _MEASURED)
for _status in _STATUSES:
    _RESPONSES |= response_schemas(WORDS[_status], _REFUSED, status=_status)


def router(service: BenchmarkByName, ends: RunEndCallbacks) -> APIRouter:
    # One at a time: each may copy and look into a file. Those that wait take no thread meanwhile.
    beginning = CapacityLimiter(1)
    routes = APIRouter(
        prefix="/benchmark",
        tags=["benchmark by name"],
        route_class=_make_route_class(service),
        generate_unique_id_function=lambda route: route.name,  # its answer's title has it
    )

    @routes.get(
        "/{model_name:path}",
        response_class=Response,
        responses=_RESPONSES,
        openapi_extra=query_parameters(MeasureByNameRequest),
    )
    async def benchmark_by_name(
        model_name: Annotated[
            str,
            Path(
                min_length=1,
                max_length=LONGEST_PATH,
                description="Of a file in `models/exported`, `models/trained` or "
                "`models/quantized` of the workspace, or of a model of a project; the suffix may "
                "be left out where only one has that name.",
                examples=["tenn_eeg.onnx"],
            ),
        ],
        query: Annotated[MeasureByNameRequest, queried(MeasureByNameRequest)],
        request: Request,
    ) -> Response:
        """Measures, and waits for the result. It is a job like any other: it waits its turn, and is
        kept, in the model's project or, of a file, in `By name`. Needs the token in the header. It
        stops when the client disconnects."""
        start = partial(service.start, model_name, query.request())
        measurement = await to_thread.run_sync(start, limiter=beginning)
        if measurement.job is not None:
            ended = await _wait_then_stop(service, ends, measurement.job, request, query.timeout_s)
            if ended == "left":
                return Response(status_code=204)  # nobody reads it
        return await run_in_threadpool(_outcome_response, service, measurement, query)

    return routes


# ---------------------------------------------------------------- waiting


async def _wait_then_stop(
    service: BenchmarkByName, ends: RunEndCallbacks, job: Job, request: Request, timeout_s: float
) -> Literal["over", "left"]:
    """Raises TooBusy or TimedOut when it is late, Refused when the server stops. Whatever happens,
    nothing keeps running for a client that is gone."""
    ended: Ended = "left"
    late: ModeldynoError | None = None
    try:
        ended = await _wait_until_over(service, ends, job, request, timeout_s)
        if ended == "late":
            late = _timeout_error(await run_in_threadpool(service.has_begun, job), timeout_s)
    except asyncio.CancelledError:
        # The server is being stopped, and has waited for its answers as long as it would.
        service.stop(job)
        raise Refused(STOPPING) from None
    if ended != "over":
        await run_in_threadpool(service.stop, job)
    if late is not None:
        raise late
    return "over" if ended == "over" else "left"


async def _wait_until_over(
    service: BenchmarkByName, ends: RunEndCallbacks, job: Job, request: Request, timeout_s: float
) -> Ended:
    loop = asyncio.get_running_loop()
    deadline = loop.time() + timeout_s
    news = asyncio.Event()
    gone = asyncio.create_task(_wait_until_disconnected(request))

    def wake() -> None:
        loop.call_soon_threadsafe(news.set)

    try:
        with ends.registered(job.run_id, wake):
            while not await run_in_threadpool(service.is_over, job):
                heard = asyncio.create_task(news.wait())
                left_s = max(0.0, min(LOOK_AGAIN_S, deadline - loop.time()))
                await asyncio.wait(
                    (gone, heard), timeout=left_s, return_when=asyncio.FIRST_COMPLETED
                )
                heard.cancel()
                news.clear()
                if gone.done():
                    return "left"
                if loop.time() >= deadline:
                    return "late"
            return "over"
    finally:
        gone.cancel()


async def _wait_until_disconnected(request: Request) -> None:
    """Returns when the client is gone."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _timeout_error(has_begun: bool, timeout_s: float) -> ModeldynoError:
    if has_begun:
        return TimedOut(
            "It took too long to measure",
            why=f"it had started, but did not end within {timeout_s:g} s",
            fix="Request fewer iterations, or a longer timeout_s",
        )
    return TooBusy(
        "Its turn did not come in time",
        why=f"other jobs were before it for {timeout_s:g} s; it was taken out of the queue",
        fix="Try again later, or with a longer timeout_s",
    )


# ---------------------------------------------------------------- answers


def _outcome_response(
    service: BenchmarkByName, measurement: MeasurementByName, query: MeasureByNameRequest
) -> Response:
    """Reads files, and looks through what is installed: not for the loop's own thread."""
    outcomes = service.outcomes(measurement)
    if query.is_list:
        return _response_for_list(service, measurement, query, outcomes)
    (outcome,) = outcomes.values()
    if isinstance(outcome, RunFailure):
        return _refusal_response(
            named_refusal(error_of(outcome)), service.devices_of(measurement.engine)
        )
    return answer(outcome)


def _response_for_list(
    service: BenchmarkByName,
    measurement: MeasurementByName,
    query: MeasureByNameRequest,
    outcomes: dict[str, dict[str, Any] | RunFailure],
) -> Response:
    """200 when one of them could be measured; else as the first one failed."""
    common = {
        "model_name": measurement.named.model.name,
        "model_path": measurement.named.path,
        "iterations": query.iterations,
        "results": [
            _not_measured_entry(device, outcome) if isinstance(outcome, RunFailure) else outcome
            for device, outcome in outcomes.items()
        ],
    }
    devices = service.devices_of(measurement.engine)
    failures = [outcome for outcome in outcomes.values() if isinstance(outcome, RunFailure)]
    if len(failures) == len(outcomes):
        return _refusal_response(named_refusal(error_of(failures[0])), devices, **common)
    return answer({"status": "success", **common, **named_document(None, devices)})


def _not_measured_entry(device: str, failure: RunFailure) -> dict[str, Any]:
    refusal = named_refusal(error_of(failure))
    return {
        "status": "error",
        "device": device,
        "message": refusal.title,
        "code": refusal.code,
        "detail": refusal.why,
        "fix": refusal.fix,
    }


def _refusal_response(refusal: Refusal, devices: dict[str, str], **more: Any) -> Response:
    headers = {name.decode(): value.decode() for name, value in refusal.headers}
    return answer(named_document(refusal, devices) | more, refusal.status, **headers)


def _explain_range(first: dict[str, Any]) -> Refusal:
    """What does not fit, and what would."""
    schema = MeasureByNameRequest.model_json_schema()["properties"].get(str(first["loc"][-1]), {})
    least, most = schema.get("minimum"), schema.get("maximum")
    why = "" if least is None else f"a whole number from {least} to {most} is possible"
    return replace(validation_refusal(first), why=why)


def _make_route_class(service: BenchmarkByName) -> type[APIRoute]:
    """Whatever is refused once the request is here: in our shape, with the devices there are."""

    class OwnWords(APIRoute):
        def get_route_handler(self) -> Handler:
            handle = super().get_route_handler()

            async def answered(request: Request) -> Response:
                more: dict[str, Any] = {}
                try:
                    return await handle(request)
                except RequestValidationError as error:
                    refusal = _explain_range(error.errors()[0])
                except Refused as error:
                    return _refusal_response(error.refusal, {})  # at once: the loop is about to end
                except ModeldynoError as error:
                    refusal = named_refusal(error)
                    if isinstance(error, NameAmbiguous):
                        more["candidates"] = list(error.candidates)
                return _refusal_response(
                    refusal, await run_in_threadpool(service.devices_of), **more
                )

            return answered

    return OwnWords
