"""Frozen dataclasses to JSON values and back, checked against their annotations.

Small on purpose: it knows exactly the shapes our values have (dataclasses, tuples, lists,
dictionaries, optionals, literals and unions of dataclasses told apart by ``kind``).
"""

from __future__ import annotations

import dataclasses
import functools
import types
import typing
from typing import Any, TypeVar, Union

T = TypeVar("T")


class Mismatch(ValueError):
    """The data does not have the shape the annotation promises."""


def encode(value: object) -> Any:
    """The JSON form of a value; tuples become lists."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: encode(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, (list, tuple)):
        if value and type(value[0]) is int:  # samples: thousands of plain integers
            return list(value)
        return [encode(item) for item in value]
    if isinstance(value, dict):
        return {key: encode(item) for key, item in value.items()}
    return value


def decode(annotation: Any, data: Any) -> Any:
    """Build the annotated type from its JSON form; raises Mismatch when it does not fit."""
    supertype = getattr(annotation, "__supertype__", None)
    if supertype is not None:
        return decode(supertype, data)
    if dataclasses.is_dataclass(annotation):
        return _decode_dataclass(annotation, data)
    origin = typing.get_origin(annotation)
    if origin is None:
        return _decode_plain(annotation, data)
    arguments = typing.get_args(annotation)
    if origin is typing.Literal:
        if data not in arguments:
            raise Mismatch(f"expected one of {arguments}, got {data!r}")
        return data
    if origin in (Union, types.UnionType):
        return _decode_union(arguments, data)
    if origin is dict:
        _expect(data, dict)
        return {key: decode(arguments[1], item) for key, item in data.items()}
    _expect(data, list)
    if origin is list or arguments[-1] is Ellipsis:
        items = data if arguments[0] is int and _all_int(data) else _each(arguments[0], data)
        return list(items) if origin is list else tuple(items)
    if len(arguments) != len(data):
        raise Mismatch(f"expected {len(arguments)} items, got {len(data)}")
    return tuple(decode(a, item) for a, item in zip(arguments, data, strict=True))


def _each(annotation: Any, data: list[Any]) -> list[Any]:
    return [decode(annotation, item) for item in data]


def _all_int(data: list[Any]) -> bool:
    return all(type(item) is int for item in data)


def _decode_dataclass(cls: Any, data: Any) -> Any:
    _expect(data, dict)
    hints = _hints(cls)
    unknown = data.keys() - hints.keys()
    if unknown:
        raise Mismatch(f"{cls.__name__} has no field {sorted(unknown)[0]!r}")
    values = {name: decode(hints[name], item) for name, item in data.items()}
    try:
        return cls(**values)
    except TypeError as error:  # a field without default is missing
        raise Mismatch(str(error)) from error


@functools.cache
def _hints(cls: Any) -> dict[str, Any]:
    return typing.get_type_hints(cls)


def _decode_union(options: tuple[Any, ...], data: Any) -> Any:
    if data is None and type(None) in options:
        return None
    classes = [option for option in options if dataclasses.is_dataclass(option)]
    if isinstance(data, dict) and "kind" in data and len(classes) > 1:
        for option in classes:
            kind = _hints(typing.cast(Any, option)).get("kind")
            if data["kind"] in typing.get_args(kind):
                return decode(option, data)
        raise Mismatch(f"unknown kind {data['kind']!r}")
    for option in options:
        try:
            return decode(option, data)
        except Mismatch:
            continue
    raise Mismatch(f"{data!r} fits none of {options}")


def _decode_plain(annotation: Any, data: Any) -> Any:
    if annotation is Any or annotation is object:
        return data
    if annotation is type(None):
        annotation = types.NoneType
    if annotation is float and type(data) is int:
        return float(data)
    if annotation is int and isinstance(data, bool):
        raise Mismatch(f"expected an integer, got {data!r}")
    _expect(data, annotation)
    return data


def _expect(data: Any, kind: type) -> None:
    if not isinstance(data, kind):
        raise Mismatch(f"expected {kind.__name__}, got {type(data).__name__}")
