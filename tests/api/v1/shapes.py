"""Hold an answer to the shape that its route promises."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, Generic, TypeVar

from jsonschema import Draft202012Validator
from pydantic import TypeAdapter

from modeldyno.api.schemas import schema_of
from tests.api.v1.server import Answer

T = TypeVar("T")


@dataclass
class Page(Generic[T]):
    """Of a list of documents."""

    __pydantic_config__: ClassVar[dict[str, Any]] = {"extra": "forbid"}

    items: list[T]
    next: str | None


def fits(answer: Answer, shape: Any, status: int = 200) -> Any:
    """The answer's JSON; fails when a key is missing, unknown, or has another kind of value."""
    assert answer.status == status, answer.text
    known = _adapter(shape)
    assert json.loads(known.dump_json(known.validate_json(answer.body))) == answer.json
    _validator(shape).validate(answer.json)
    return answer.json


@cache
def _adapter(shape: Any) -> TypeAdapter[Any]:
    return TypeAdapter(shape)


@cache
def _validator(kind: type[Any]) -> Draft202012Validator:
    return Draft202012Validator(schema_of(kind))


def problem(answer: Answer, status: int, code: str) -> Any:
    """A problem document that says what, and what to do."""
    assert answer.headers["Content-Type"] == "application/problem+json", answer.text
    assert (answer.status, answer.json["code"]) == (status, code), answer.text
    assert answer.json["title"]
    return answer.json
