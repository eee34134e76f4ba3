"""Hold an answer to the shape that its route promises."""

from __future__ import annotations

import json
from typing import Any

from pydantic import TypeAdapter

from tests.api.v1.server import Answer


def fits(answer: Answer, shape: Any, status: int = 200) -> Any:
    """The answer's JSON; fails when a key is missing, unknown, or has another kind of value."""
    assert answer.status == status, answer.text
    known: TypeAdapter[Any] = TypeAdapter(shape)
    assert json.loads(known.dump_json(known.validate_json(answer.body))) == answer.json
    return answer.json


def problem(answer: Answer, status: int, code: str) -> Any:
    """A problem document that says what, and what to do."""
    assert answer.headers["Content-Type"] == "application/problem+json", answer.text
    assert (answer.status, answer.json["code"]) == (status, code), answer.text
    assert answer.json["title"]
    return answer.json
