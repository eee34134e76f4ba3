"""``/api/<operation>``, by GET or POST: answers are bare JSON, errors plain text."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import parse_qs

from fastapi import APIRouter, Request, Response
from pydantic_core import to_json
from starlette.concurrency import run_in_threadpool
from starlette.convertors import Convertor, register_url_convertor

from modeldyno.api.bodies import read_json
from modeldyno.api.errors import Refusal, Refused, unreadable_json_refusal
from modeldyno.api.inc.parameters import Parameters

Operation = Callable[[Parameters], Any]
Operations = Mapping[str, Operation]

PROCESSING = {"exit_code": 102, "message": "processing"}  # accepted; an event reports the outcome
MOST_PARAMETERS = 500  # open groups of a graph are one each


class OutsidePaths(Convertor[str]):
    """Any path except those that begin with one of the ``folders``."""

    def __init__(self, *folders: str) -> None:
        names = "|".join(map(re.escape, folders))
        self.regex = rf"(?!(?:{names})(?:/|$)).*"  # type: ignore[misc]  # declared as of the class

    def convert(self, value: str) -> str:
        return value

    def to_string(self, value: str) -> str:
        return value


register_url_convertor("operation", OutsidePaths("v1"))


def router(operations: Operations) -> APIRouter:
    routes = APIRouter()

    @routes.api_route("/api/{name:operation}", methods=["GET", "POST"])
    async def operate(name: str, request: Request) -> Response:
        operation = operations.get(name)
        if operation is None:
            raise Refused(Refusal(404, "NOT_FOUND", f"Unable to find {name[:100]}", "", ""))
        parameters = Parameters(await _read_parameters(request))
        answer = await run_in_threadpool(operation, parameters)
        if isinstance(answer, Response):
            return answer
        return Response(to_json(answer, inf_nan_mode="null"), media_type="application/json")

    return routes


def list_addresses(operations: Operations) -> list[str]:
    return [f"/api/{name}" for name in operations]


async def _read_parameters(request: Request) -> dict[str, Any]:
    """Of body and query; the body takes precedence."""
    try:
        query = parse_qs(request.url.query, keep_blank_values=True, max_num_fields=MOST_PARAMETERS)
    except ValueError as error:
        why = f"there are more than {MOST_PARAMETERS} parameters"
        raise Refused(Refusal(400, "BAD_VALUE", "Too many parameters", why, "")) from error
    query.pop("token", None)
    body = await request.body()
    if not body or "json" not in request.headers.get("content-type", "").lower():
        return dict(query)
    values, why = read_json(body)
    if not why and not isinstance(values, dict):
        why = "it is not an object"
    if why:
        raise Refused(unreadable_json_refusal(why))
    # Lists in a body are meant as such; those of a query with one entry are values.
    single = {name: texts[0] if len(texts) == 1 else texts for name, texts in query.items()}
    return {**single, **values}
