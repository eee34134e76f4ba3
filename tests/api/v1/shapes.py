"""Hold an answer to the shape that its route promises."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from jsonschema import Draft202012Validator
from pydantic import TypeAdapter

from modeldyno.api.schemas import schema_of
from modeldyno.core.documents.cell import CellDocument
from modeldyno.core.documents.failure import FailureDocument
from modeldyno.core.documents.profile import AgreementDocument, RoofDocument, TimeDocument
from modeldyno.core.documents.summary import SummaryDocument
from tests.api.v1.server import Answer


def fits(answer: Answer, shape: Any, status: int = 200) -> Any:
    """The answer's JSON; fails when a key is missing, unknown, or has another kind of value."""
    assert answer.status == status, answer.text
    known: TypeAdapter[Any] = TypeAdapter(shape)
    assert json.loads(known.dump_json(known.validate_json(answer.body))) == answer.json
    _require_documents(answer.json)
    return answer.json


def _require_documents(part: Any) -> None:
    """Documents inside of an answer fit as well: models of routes refer to them by name."""
    if isinstance(part, list):
        for member in part:
            _require_documents(member)
    elif isinstance(part, dict):
        if "effective" in part:
            _validator(CellDocument).validate(part)
        if "recorded_ms" in part:
            _validator(TimeDocument).validate(part)
        for name, member in part.items():
            if name in DOCUMENTS and member is not None:
                _validator(DOCUMENTS[name]).validate(member)
            else:
                _require_documents(member)


DOCUMENTS = {
    "agreement": AgreementDocument,
    "failure": FailureDocument,
    "roof": RoofDocument,
    "summary": SummaryDocument,
}


@cache
def _validator(kind: type[Any]) -> Draft202012Validator:
    return Draft202012Validator(schema_of(kind))


def problem(answer: Answer, status: int, code: str) -> Any:
    """A problem document that says what, and what to do."""
    assert answer.headers["Content-Type"] == "application/problem+json", answer.text
    assert (answer.status, answer.json["code"]) == (status, code), answer.text
    assert answer.json["title"]
    return answer.json
