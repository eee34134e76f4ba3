"""JSON of a server to values. Lenient: a newer server may say more, and an older one less."""

from __future__ import annotations

import dataclasses
import functools
import types
import typing
from datetime import datetime
from typing import Any, TypeVar, Union

from modeldyno.client.steps import Answer
from modeldyno.core import errors

T = TypeVar("T")


def read(kind: type[T], data: Any) -> T:
    """What it does not know is left out; what is missing is None, or its default."""
    document: T = _read(kind, data)
    return document


def _read(kind: Any, data: Any) -> Any:
    if data is None:
        return None
    kind = getattr(kind, "__supertype__", kind)
    if dataclasses.is_dataclass(kind):
        return _read_dataclass(kind, data)
    if kind is datetime:
        return datetime.fromisoformat(data)
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (Union, types.UnionType):
        named = [option for option in arguments if option is not type(None)]
        return _read(named[0], data) if len(named) == 1 else data
    if origin is tuple:
        return tuple(_read(arguments[0], item) for item in data)
    if kind is float:
        return float(data)
    return data


def _read_dataclass(kind: Any, data: dict[str, Any]) -> Any:
    hints = _hints(kind)
    values = {}
    for field in dataclasses.fields(kind):
        if field.name in data:
            values[field.name] = _read(hints[field.name], data[field.name])
        elif field.default is field.default_factory is dataclasses.MISSING:
            values[field.name] = None
    return kind(**values)


@functools.cache
def _hints(kind: Any) -> dict[str, Any]:
    return typing.get_type_hints(kind)


def check(answer: Answer) -> Answer:
    """Raises what the server raised, by its code."""
    if 200 <= answer.status < 300:
        return answer
    raise error_of(answer)


def error_of(answer: Answer) -> errors.ModeldynoError:
    try:
        problem = answer.json
        code, title = str(problem["code"]), str(problem["title"])
        why, fix = str(problem.get("detail", "")), str(problem.get("fix", ""))
    except (errors.ServerFailed, KeyError, TypeError, AttributeError):  # no server of ours
        code, title = "", f"The server answered {answer.status}"
        why, fix = answer.text[:200], "Check that the address is that of a Modeldyno server"
    if code in _AT_THE_DOOR:  # its advice is for those who write requests themselves
        fix = "Set MODELDYNO_TOKEN to what `modeldyno token` prints on the server's machine"
        return errors.NotSignedIn(title, why=why, fix=fix)
    kind = errors.error_classes().get(code) or _by_status(answer.status)
    return kind(title, why=why, fix=fix)


_AT_THE_DOOR = ("TOKEN_NEEDED", "TOO_MANY_FAILURES")


def _by_status(status: int) -> type[errors.ModeldynoError]:
    known = {401: errors.NotSignedIn, 404: errors.NotFound}
    return known.get(status, errors.UserError if 400 <= status < 500 else errors.ServerFailed)
