"""JSON of a server to documents; newer servers may send more fields, older ones fewer."""

from __future__ import annotations

import dataclasses
import functools
import json
import types
import typing
from datetime import datetime
from typing import Any, TypeVar, Union

from modeldyno.core import errors

T = TypeVar("T")


def read_value(kind: type[T], content: Any) -> T:
    """Unknown fields are left out; missing ones are None, or their default."""
    document: T = _read_any(kind, content)
    return document


def _read_any(kind: Any, content: Any) -> Any:
    if content is None:
        return None
    kind = getattr(kind, "__supertype__", kind)
    if dataclasses.is_dataclass(kind):
        return _read_dataclass(kind, content)
    if kind is datetime:
        return datetime.fromisoformat(content)
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (Union, types.UnionType):
        options = [option for option in arguments if option is not type(None)]
        return _read_any(options[0], content) if len(options) == 1 else content
    if origin is tuple:
        return tuple(_read_any(arguments[0], element) for element in content)
    return float(content) if kind is float else content


def _read_dataclass(kind: Any, content: dict[str, Any]) -> Any:
    hints = _field_types(kind)
    fields = {}
    for field in dataclasses.fields(kind):
        if field.name in content:
            fields[field.name] = _read_any(hints[field.name], content[field.name])
        elif field.default is field.default_factory is dataclasses.MISSING:
            fields[field.name] = None
    return kind(**fields)


@functools.cache
def _field_types(cls: Any) -> dict[str, Any]:
    return typing.get_type_hints(cls)


def parse_error(status: int, body: bytes) -> errors.ModeldynoError:
    """What the server raised, by its code."""
    try:
        problem = json.loads(body)
        code, title = str(problem["code"]), str(problem["title"])
        why, fix = str(problem.get("detail", "")), str(problem.get("fix", ""))
    except (ValueError, KeyError, TypeError, AttributeError):  # not a Modeldyno server
        code, title = "", f"The server answered {status}"
        why = body.decode(errors="replace")[:200]
        fix = "Check that the address is that of a Modeldyno server"
    if code in ("TOKEN_NEEDED", "TOO_MANY_FAILURES"):  # their advice is for authors of requests
        fix = "Set MODELDYNO_TOKEN to what `modeldyno token` prints on the server's machine"
        return errors.NotSignedIn(title, why=why, fix=fix)
    by_status = {401: errors.NotSignedIn, 404: errors.NotFound}
    usual = errors.UserError if 400 <= status < 500 else errors.ServerFailed
    kind = errors.error_classes().get(code) or by_status.get(status, usual)
    return kind(title, why=why, fix=fix)
