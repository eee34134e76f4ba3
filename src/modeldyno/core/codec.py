"""Frozen dataclasses to JSON values and back, checked against their annotations.

Small on purpose: it knows exactly the shapes our values have (dataclasses, tuples, lists,
dictionaries, optionals, literals and unions of dataclasses told apart by ``kind``).
"""

from __future__ import annotations

import dataclasses
import functools
import reprlib
import types
import typing
from collections.abc import Callable
from typing import Any, TypeVar, Union

T = TypeVar("T")
Read = Callable[[Any], Any]
DEEPEST = 32  # nesting of an ``Any``; the reader of an ``object`` checks it
_LEAST, _MOST = -(1 << 63), (1 << 63) - 1  # in a list of integers: samples are kept in 64 bits


class Mismatch(ValueError):
    """The JSON does not fit the annotation."""


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
    return _find_reader(annotation)(data)


# ---------------------------------------------------------------- readers
# Readers of classes are cached: every unit, spec and message comes through here. Unions are not,
# since unions in another order are equal but read differently.


def _find_reader(annotation: Any) -> Read:
    supertype = getattr(annotation, "__supertype__", None)
    if supertype is not None:
        return _find_reader(supertype)
    if dataclasses.is_dataclass(annotation):
        return _reader_of_dataclass(typing.cast(Any, annotation))
    origin = typing.get_origin(annotation)
    if origin is None:
        return _reader_of_plain(annotation)
    arguments = typing.get_args(annotation)
    if origin is typing.Literal:
        return functools.partial(_read_literal, arguments)
    if origin in (Union, types.UnionType):
        return _reader_of_union(arguments)
    if origin is dict:
        return functools.partial(_read_dict, _find_reader(arguments[1]))
    if origin is list or arguments[-1] is Ellipsis:
        build: Callable[[Any], Any] = list if origin is list else tuple
        return functools.partial(_read_many, build, arguments[0] is int, _find_reader(arguments[0]))
    return functools.partial(_read_each, [_find_reader(argument) for argument in arguments])


def _read_literal(arguments: tuple[Any, ...], data: Any) -> Any:
    if data not in arguments:
        raise Mismatch(f"expected one of {arguments}, got {reprlib.repr(data)}")
    return data


def _read_dict(read: Read, data: Any) -> Any:
    _require_type(data, dict)
    return {key: read(item) for key, item in data.items()}


def _read_many(build: Callable[[Any], Any], of_int: bool, read: Read, data: Any) -> Any:
    _require_type(data, list)
    if of_int and all(type(item) is int for item in data):  # samples: thousands of them
        if data and not _LEAST <= min(data) <= max(data) <= _MOST:
            raise Mismatch("expected integers of 64 bits")
        return build(data)
    return build([read(item) for item in data])


def _read_each(reads: list[Read], data: Any) -> Any:
    _require_type(data, list)
    if len(reads) != len(data):
        raise Mismatch(f"expected {len(reads)} items, got {len(data)}")
    return tuple(read(item) for read, item in zip(reads, data, strict=True))


@functools.cache
def _reader_of_dataclass(cls: Any) -> Read:
    reads: dict[str, Read] = {}
    upgraded: Read | None = getattr(cls, "upgraded", None)  # converts what earlier versions wrote

    def read(data: Any) -> Any:
        if upgraded is not None:
            data = upgraded(data)
        if not reads:  # lazily: a class may contain itself
            reads.update({name: _find_reader(hint) for name, hint in _field_types(cls).items()})
        _require_type(data, dict)
        values = {}
        for name, item in data.items():
            if name not in reads:
                unknown = sorted(data.keys() - reads.keys())
                raise Mismatch(f"{cls.__name__} has no field {unknown[0]!r}")
            values[name] = reads[name](item)
        try:
            return cls(**values)
        except TypeError as error:  # a field without default is missing
            raise Mismatch(str(error)) from error

    return read


@functools.cache
def _field_types(cls: Any) -> dict[str, Any]:
    return typing.get_type_hints(cls)


def _reader_of_union(options: tuple[Any, ...]) -> Read:
    """Classes are told apart by ``kind``; otherwise the first option that fits wins."""
    classes = [option for option in options if dataclasses.is_dataclass(option)]
    reads = [_find_reader(option) for option in options]
    takes_none = type(None) in options
    kinds: dict[Any, Read] = {}

    def read(data: Any) -> Any:
        if data is None and takes_none:
            return None
        if len(classes) > 1 and isinstance(data, dict) and "kind" in data:
            if not kinds:
                kinds.update(_readers_by_kind(classes))
            kind = data["kind"]
            if not isinstance(kind, str) or kind not in kinds:
                raise Mismatch(f"unknown kind {reprlib.repr(kind)}")
            return kinds[kind](data)
        for read_option in reads:
            try:
                return read_option(data)
            except Mismatch:
                continue
        raise Mismatch(f"{reprlib.repr(data)} fits none of {options}")

    return read


def _readers_by_kind(classes: list[Any]) -> dict[Any, Read]:
    return {
        kind: _find_reader(cls)
        for cls in reversed(classes)  # of two with the same kind, the first
        for kind in typing.get_args(_field_types(cls).get("kind"))
    }


def _reader_of_plain(annotation: Any) -> Read:
    if annotation is object:
        return lambda data: data
    if annotation is Any:
        return _read_anything
    if annotation is None:
        annotation = types.NoneType

    def read(data: Any) -> Any:
        if annotation is float and type(data) is int:
            return _to_float(data)
        if annotation is int and isinstance(data, bool):
            raise Mismatch(f"expected an integer, got {data!r}")
        _require_type(data, annotation)
        return data

    return read


def _to_float(number: int) -> float:
    try:
        return float(number)
    except OverflowError as error:
        raise Mismatch("expected a number of 64 bits, got a larger one") from error


def _read_anything(data: Any) -> Any:
    """Deeper nesting could be read, but not written again."""
    level = [data]
    for _ in range(DEEPEST):
        inside = (v.values() if isinstance(v, dict) else v for v in level if _is_nest(v))
        level = [item for items in inside for item in items if _is_nest(item)]
    if level:
        raise Mismatch(f"nested more than {DEEPEST} deep")
    return data


def _is_nest(value: Any) -> bool:
    return isinstance(value, (dict, list))


def _require_type(data: Any, kind: type) -> None:
    if not isinstance(data, kind):
        raise Mismatch(f"expected {kind.__name__}, got {type(data).__name__}")
