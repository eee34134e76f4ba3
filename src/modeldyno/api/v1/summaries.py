"""Documents of runs and cells in answers: they are JSON already, and joined as they are.

Routes refer to them by name; to build models of them would slow the server's start.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any

from fastapi import Response
from pydantic import WithJsonSchema
from pydantic_core import to_json

from modeldyno.api.schemas import reference
from modeldyno.core.documents.cell import CellDocument
from modeldyno.core.documents.failure import FailureDocument
from modeldyno.core.documents.summary import SummaryDocument

# Within ``allOf``: pydantic would look a bare reference up among its own models.
FailurePart = Annotated[dict[str, Any], WithJsonSchema({"allOf": [reference(FailureDocument)]})]
SummaryPart = Annotated[dict[str, Any], WithJsonSchema({"allOf": [reference(SummaryDocument)]})]
CellPart = Annotated[dict[str, Any], WithJsonSchema({"allOf": [reference(CellDocument)]})]


def failure_of(kept: dict[str, str] | None) -> FailureDocument | None:
    return None if kept is None else FailureDocument.of_record(kept)


def ms(seconds: float | None) -> float | None:
    return None if seconds is None else seconds * 1e3


# ---------------------------------------------------------------- joined as text


def joined(values: dict[str, Any], *, members: str = "{}", **documents: str) -> bytes:
    """An object of plain values, of the members of an object that is JSON already, and of
    documents by name."""
    text = to_json(values, inf_nan_mode="null")[:-1].decode()
    if members != "{}":
        text += "," + members[1:-1]
    for name, document in documents.items():
        text += f',"{name}":{document}'
    return (text + "}").encode()


def json_array(documents: Iterable[str]) -> str:
    return f"[{','.join(documents)}]"


def page_of(lines: Iterable[bytes], next_cursor: str | None) -> Response:
    body = b'{"items":[' + b",".join(lines) + b'],"next":' + to_json(next_cursor) + b"}"
    return json_response(body)


def json_response(body: bytes, status: int = 200, **headers: str) -> Response:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Response(body, status, named, media_type="application/json")
