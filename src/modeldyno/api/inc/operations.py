"""``/api/<operation>``: by GET and POST alike, errors as plain text, what works as bare JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import parse_qs

from fastapi import APIRouter, Request, Response
from pydantic_core import to_json
from starlette.concurrency import run_in_threadpool
from starlette.convertors import Convertor, register_url_convertor

from modeldyno.api.bodies import read_json
from modeldyno.api.errors import Refusal, Refused, unreadable_json
from modeldyno.api.inc.parameters import Parameters

Operation = Callable[[Parameters], Any]
Operations = Mapping[str, Operation]

PROCESSING = {"exit_code": 102, "message": "processing"}  # accepted; what becomes of it is an event
MOST_PARAMETERS = 500  # open groups of a graph are one each


class _NotOurs(Convertor[str]):
    """Whatever is not below ``/api/v1``."""

    regex = r"(?!v1(?:/|$)).*"

    def convert(self, value: str) -> str:
        return value

    def to_string(self, value: str) -> str:
        return value


register_url_convertor("operation", _NotOurs())


def router(operations: Operations) -> APIRouter:
    routes = APIRouter()

    @routes.api_route("/api/{name:operation}", methods=["GET", "POST"])
    async def operate(name: str, request: Request) -> Response:
        operation = operations.get(name)
        if operation is None:
            raise Refused(Refusal(404, "NOT_FOUND", f"Unable to find {name[:100]}", "", ""))
        asked = Parameters(await _said(request))
        found = await run_in_threadpool(operation, asked)
        if isinstance(found, Response):
            return found
        return Response(to_json(found, inf_nan_mode="null"), media_type="application/json")

    return routes


def addresses(operations: Operations) -> list[str]:
    return [f"/api/{name}" for name in operations]


async def _said(request: Request) -> dict[str, Any]:
    """What the body says goes before what the query says."""
    try:
        query = parse_qs(request.url.query, keep_blank_values=True, max_num_fields=MOST_PARAMETERS)
    except ValueError as error:
        why = f"there are more than {MOST_PARAMETERS} parameters"
        raise Refused(Refusal(400, "BAD_VALUE", "Too many parameters", why, "")) from error
    query.pop("token", None)
    body = await request.body()
    if not body or "json" not in request.headers.get("content-type", "").lower():
        return dict(query)
    found, why = read_json(body)
    if not why and not isinstance(found, dict):
        why = "it is no object"
    if why:
        raise Refused(unreadable_json(why))
    # Beside a body, whose lists are meant, a query's lists of one are values.
    values = {name: said[0] if len(said) == 1 else said for name, said in query.items()}
    return {**values, **found}
