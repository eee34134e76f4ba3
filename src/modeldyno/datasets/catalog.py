"""Makes readers, transforms, filters and metrics from their names, and from parameters as a user,
a form or a file wrote them: ``"False"``, ``"[0.0, 0.0]"``, ``"224, 224"``.

A class is imported only when one of its kind is made.
"""

from __future__ import annotations

import dataclasses
import importlib
import json
import types
import typing
from collections.abc import Mapping, Sequence
from typing import Any, Union

from modeldyno.core.codec import Mismatch, decode
from modeldyno.core.dictionaries import Type
from modeldyno.core.errors import BadValue
from modeldyno.core.names import find_similar_names
from modeldyno.datasets.filters import FILTERS
from modeldyno.datasets.metrics import METRICS
from modeldyno.datasets.protocol import Filter, Metric, Reader, Transform
from modeldyno.datasets.readers import READERS
from modeldyno.datasets.transforms import TRANSFORMS
from modeldyno.datasets.typed_values import convert_value, is_blank

Table = Mapping[str, str | Mapping[str, str]]
_TYPES: dict[Any, Type] = {str: "text", int: "whole", float: "number", bool: "truth"}
_LISTS: dict[Any, Type] = {int: "wholes", float: "numbers"}  # by what they hold


def make_reader(name: str, framework: str, parameters: Mapping[str, Any]) -> Reader:
    reader: Reader = _make(find_class(READERS, "reader", name, framework), name, parameters)
    return reader


def make_transform(name: str, framework: str, parameters: Mapping[str, Any]) -> Transform:
    transform: Transform = _make(
        find_class(TRANSFORMS, "transform", name, framework), name, parameters
    )
    return transform


def make_metric(name: str, framework: str, parameters: Mapping[str, Any]) -> Metric:
    metric: Metric = _make(find_class(METRICS, "metric", name, framework), name, parameters)
    return metric


def make_filter(name: str, framework: str, parameters: Mapping[str, Any]) -> Filter:
    made: Filter = _make(find_class(FILTERS, "filter", name, framework), name, parameters)
    return made


def find_class(table: Table, noun: str, name: str, framework: str) -> Any:
    """Raises BadValue, with the nearest names, if there is none of that name."""
    place = table.get(name)
    if place is None:
        raise BadValue(
            f"There is no {noun} {name[:100]!r}",
            why=_nearest(name, table),
            fix=f"Choose one of: {', '.join(sorted(table, key=str.lower))}",
        )
    if not isinstance(place, str):
        place = place.get(framework.strip().lower(), place[""])
    module, _, attribute = place.partition(":")
    return getattr(importlib.import_module(module), attribute)


def _make(cls: Any, owner: str, parameters: Mapping[str, Any]) -> Any:
    """Blank parameters keep their defaults. Raises BadValue for what the class does not take."""
    hints = typing.get_type_hints(cls)
    fields = {field.name: field for field in dataclasses.fields(cls)}
    values = {}
    for name, value in parameters.items():
        if name not in fields:
            raise BadValue(
                f"{owner} has no parameter {name[:100]!r}",
                why=_nearest(name, fields),
                fix=f"It has: {', '.join(fields)}" if fields else "It has none",
            )
        if not is_blank(value):
            values[name] = _convert(hints[name], name, value)
    missing = [name for name, field in fields.items() if name not in values and _is_needed(field)]
    if missing:
        raise BadValue(
            f"{owner} lacks {' and '.join(missing)}",
            why="there is no value that would do for everybody",
            fix=f"Give it: {', '.join(missing)}",
        )
    return cls(**values)


def _is_needed(field: dataclasses.Field[Any]) -> bool:
    return field.default is field.default_factory is dataclasses.MISSING


def _nearest(name: str, names: Mapping[str, Any]) -> str:
    near = find_similar_names(name, names, 3)
    return f"the nearest are {', '.join(near)}" if near else "no name is near to it"


def _convert(hint: Any, name: str, value: Any) -> Any:
    """Of several types, the first that fits."""
    if typing.get_origin(hint) not in (Union, types.UnionType):
        return _convert_one(hint, name, value)
    options = [option for option in typing.get_args(hint) if option is not types.NoneType]
    for option in options[:-1]:
        try:
            return _convert_one(option, name, value)
        except BadValue:
            continue
    return _convert_one(options[-1], name, value)


def _convert_one(hint: Any, name: str, value: Any) -> Any:
    if dataclasses.is_dataclass(hint):
        return _convert_parts(hint, name, value)
    if hint in _TYPES:
        return _decode(hint, name, convert_value(_TYPES[hint], name, _plain(value)))
    if typing.get_origin(hint) not in (tuple, list, Sequence):
        return _decode(hint, name, value)
    inside = typing.get_args(hint)[0]
    if inside is str:
        parts = value.split(",") if isinstance(value, str) else value
        parts = [convert_value("text", name, part).strip() for part in _plain(parts)]
    else:
        parts = convert_value(_LISTS.get(inside, "shapes"), name, _plain(value))
    if typing.get_origin(hint) is Sequence:
        return _frozen(parts)
    return _decode(hint, name, parts)


def _frozen(value: Any) -> Any:
    return tuple(map(_frozen, value)) if isinstance(value, list) else value


def _plain(value: Any) -> Any:
    """As JSON would have it: lists rather than tuples."""
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value]
    return value


def _convert_parts(hint: Any, name: str, value: Any) -> Any:
    if not isinstance(value, Mapping):
        raise BadValue(
            f"{name} cannot be {json.dumps(value, default=str)[:100]}",
            why="it has several parts",
            fix=f"Send an object with: {', '.join(f.name for f in dataclasses.fields(hint))}",
        )
    return _make(hint, name, value)


def _decode(hint: Any, name: str, value: Any) -> Any:
    try:
        return decode(hint, value)
    except Mismatch as error:
        raise BadValue(
            f"{name} cannot be {json.dumps(value, default=str)[:100]}",
            why=str(error),
            fix="Look up its type with the dataset's parameters",
        ) from error
