"""What all requests and answers of ``/api/v1`` have in common."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Annotated, Any, TypeVar

from fastapi import Path, Response
from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic_core import to_json
from typing_extensions import TypeAliasType

from modeldyno.api.schemas import Json, response_schemas, schema_reference
from modeldyno.core.runs import Page

V = TypeVar("V")

MOST_ID = 2**31 - 1
MOST_EXACT = 2**53 - 1  # what every reader of JSON keeps exactly


class RequestBody(BaseModel):
    """A request's body: what it does not know, it refuses. ``"1"`` and ``true`` are no numbers;
    ``1.0`` is as whole as ``1``, which JSON does not tell apart."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    @model_validator(mode="before")
    @classmethod
    def _whole(cls, said: Any) -> Any:
        return _convert_whole_floats(said)


def _convert_whole_floats(said: Any) -> Any:
    """Not deeper than ``bodies.py`` lets pass."""
    match said:
        case float() if said.is_integer():
            return int(said)
        case list():
            return [_convert_whole_floats(child) for child in said]
        case dict():
            return {name: _convert_whole_floats(child) for name, child in said.items()}
        case _:
            return said


Id = Annotated[int, Path(ge=1, le=MOST_ID)]
# Whatever else JSON may hold; bodies.py says how deep and how long. (Named, since it holds itself.)
JsonValue = TypeAliasType(
    "JsonValue",
    "bool | Annotated[int, Field(ge=-MOST_EXACT, le=MOST_EXACT)]"
    "| Annotated[float, Field(ge=-MOST_EXACT, le=MOST_EXACT)] | str"
    "| list[JsonValue] | dict[str, JsonValue] | None",
)
# One line of text with something to see in it.
_NAME = r"^[^\u0000-\u001f\u007f]*[^\s\u0000-\u001f\u007f][^\u0000-\u001f\u007f]*$"
Name = Annotated[str, Field(min_length=1, max_length=200, pattern=_NAME)]


def answer(document: Any, status: int = 200, **headers: str) -> Response:
    """A document as JSON; ``location="/x"`` is a header. What it looks like, ``gives`` says of the
    route, and the tests hold it to that."""
    return json_response(to_json(document, inf_nan_mode="null"), status, **headers)


def json_response(body: bytes, status: int = 200, **headers: str) -> Response:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Response(body, status, named, media_type="application/json")


def page_response(page: Page[V], document: Callable[[V], object]) -> Response:
    return answer({"items": [document(item) for item in page.items], "next": page.next})


def gives(shape: type[Any] | Json, *refusals: int, status: int = 200) -> dict[str, Any]:
    """For the decorator of a route: the document or the schema of what it answers, and what may go
    wrong. FastAPI has nothing to build of it."""
    if isinstance(shape, dict):
        about, schema = "A page of the list.", shape
    else:
        about, schema = inspect.cleandoc(shape.__doc__ or ""), schema_reference(shape)
    responses = response_schemas(about, schema, status=status) | documented_problems(*refusals)
    described = {"status_code": status, "response_class": Response, "responses": responses}
    return described | {"response_model": None}


def gives_nothing(*refusals: int) -> dict[str, Any]:
    """The same of a route that answers without a body. (FastAPI's own class gives it a type.)"""
    return {
        "status_code": 204,
        "response_class": Response,
        "responses": documented_problems(*refusals),
    }


def documented_problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """For ``responses=``: what may go wrong with an operation, and with every one.

    That each is a ``ProblemDocument`` is said by ``api/openapi.py``: FastAPI would make six
    hundred fields of it, which is a tenth of the server's start.
    """
    return {status: {"description": WORDS[status]} for status in (*_ALWAYS, *statuses)}


_ALWAYS = (400, 401, 403, 422, 429, 503)  # api/openapi.py adds what goes with a body
WORDS = {
    400: "The request cannot work",
    401: "Wrong or missing token",
    403: "Refused",
    404: "There is no such thing",
    408: "The body did not arrive in time",
    409: "Not now: others use it, or it is in another state",
    412: "Somebody else changed it meanwhile",
    413: "Too large",
    415: "Another kind of body than this operation reads",
    416: "The file has no such range",
    422: "The request does not match its description",
    428: "Say which version you mean to change",
    429: "Too much at once",
    503: "Not available for now",
    507: "No room in the workspace",
}
