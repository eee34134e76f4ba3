"""Documents in answers that are JSON already, and are joined as they are."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from operator import attrgetter
from typing import Any

from fastapi import Response
from pydantic_core import to_json

from modeldyno.api.v1.shape import json_response
from modeldyno.core.documents.described import field_names

Values = dict[str, Any]


def make_field_copier(kind: type[Any], *others: str) -> Callable[[Any], Values]:
    """Gets the fields of a document, but for ``others``, from what has them under their names."""
    names = tuple(name for name in field_names(kind) if name not in others)
    get = attrgetter(*names)
    return lambda source: dict(zip(names, get(source), strict=True))


def join_json_members(values: dict[str, Any], *, members: str = "{}", **documents: str) -> bytes:
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


def page_of_lines(lines: Iterable[bytes], next_cursor: str | None) -> Response:
    body = b'{"items":[' + b",".join(lines) + b'],"next":' + to_json(next_cursor) + b"}"
    return json_response(body)
