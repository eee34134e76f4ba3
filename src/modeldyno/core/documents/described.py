"""How documents describe themselves, and how they become JSON.

A document is a frozen dataclass. The text below a field says what it means, and becomes its
description in the JSON Schemas, in OpenAPI and in the types of the page (``make types``).
"""

from __future__ import annotations

import json
import math
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime
from functools import cache
from typing import Annotated, Any, ClassVar, Self, get_args, get_type_hints

from modeldyno.core.codec import decode


class Described:
    """Base of all documents and their parts. Every field is always written, and schemas refuse
    fields that are not declared."""

    __slots__ = ()
    __pydantic_config__: ClassVar[dict[str, Any]] = {
        "extra": "forbid",
        "use_attribute_docstrings": True,
        "json_schema_serialization_defaults_required": True,
    }

    @classmethod
    def from_fields(cls, source: Any, /, **others: Any) -> Self:
        """With the fields of ``source``, a dataclass, that have the same names, and ``others``."""
        return cls(**shared_fields(cls, source) | others)

    @classmethod
    def read(cls, text: str) -> Self:
        """From its JSON."""
        document: Self = decode(cls, json.loads(text))
        return document


class Schema:
    """Keywords of JSON Schema, as in ``Annotated[int, Schema(minimum=1)]``. They describe what we
    write; they check nothing."""

    __slots__ = ("_keywords",)

    def __init__(self, **keywords: Any) -> None:
        self._keywords = keywords

    def __get_pydantic_json_schema__(self, core_schema: Any, handler: Any) -> dict[str, Any]:
        """Called by pydantic; this module does not need it."""
        schema: dict[str, Any] = handler(core_schema)
        return schema | self._keywords


class KindSchema:
    """For the name of a kind, or of anything with notes: its JSON Schema lists them all."""

    __slots__ = ("_others",)

    def __init__(self, *others: str) -> None:
        self._others = others

    def __get_pydantic_json_schema__(self, core_schema: Any, handler: Any) -> dict[str, Any]:
        from modeldyno.core.kinds import kept_kinds

        schema: dict[str, Any] = handler(core_schema)
        return schema | {"enum": [*self._others, *kept_kinds()]}


class ByKind:
    """For a union of classes that ``kind`` tells apart."""

    __slots__ = ()

    def __get_pydantic_core_schema__(self, union: Any, handler: Any) -> dict[str, Any]:
        """Called by pydantic, which cannot tell by itself."""
        choices = {
            kind: handler.generate_schema(option)
            for option in get_args(union)
            for kind in get_args(get_type_hints(option)["kind"])
        }
        return {"type": "tagged-union", "discriminator": "kind", "choices": choices}


Count = Annotated[int, Schema(minimum=0)]
Size = Annotated[int, Schema(minimum=1)]
Amount = Annotated[float, Schema(minimum=0)]
Positive = Annotated[float, Schema(exclusiveMinimum=0)]
Share = Annotated[float, Schema(minimum=0, maximum=1)]
Moment = Annotated[str, Schema(format="date-time")]  # ISO 8601 with zone
Sha256 = Annotated[str, Schema(pattern="^[0-9a-f]{64}$")]
RunName = Annotated[str, Schema(pattern="^[0-9]{8}-[0-9]{6}-[0-9a-f]{6}$")]


def to_milliseconds(seconds: float | None) -> float | None:
    return None if seconds is None else seconds * 1e3


# ---------------------------------------------------------------- JSON


def json_text(document: Any, indent: int | None = 2) -> str:
    """A document, or anything made of documents and JSON values. Numbers that are not finite become
    null, since JSON lacks them."""
    separators = (",", ":") if indent is None else None
    try:
        return json.dumps(
            document, indent=indent, separators=separators, default=_to_members, allow_nan=False
        )
    except ValueError:
        return json.dumps(json_value(document), indent=indent, separators=separators)


def json_value(document: Any) -> Any:
    """The JSON value that ``json_text`` writes."""
    if isinstance(document, dict):
        return {name: json_value(member) for name, member in document.items()}
    if isinstance(document, (list, tuple)):
        return [json_value(member) for member in document]
    if isinstance(document, float):
        return document if math.isfinite(document) else None
    if document is None or isinstance(document, (str, int)):
        return document
    return json_value(_to_members(document))


def _to_members(document: Any) -> Any:
    if isinstance(document, datetime):
        return document.astimezone(UTC).isoformat().replace("+00:00", "Z")
    kind: type[Any] = type(document)
    if not is_dataclass(kind):
        raise TypeError(f"{kind.__name__} is not part of a document")
    return {name: getattr(document, name) for name in field_names(kind)}


def shared_fields(kind: Any, source: Any) -> dict[str, Any]:
    """The fields of ``kind`` that ``source``, a dataclass, has as well, with their values."""
    kinds: tuple[Any, Any] = kind, type(source)
    return {name: getattr(source, name) for name in _shared_field_names(*kinds)}


def field_names(kind: Any) -> tuple[str, ...]:
    return _field_names(kind)


@cache
def _shared_field_names(kind: Any, source: Any) -> tuple[str, ...]:
    known = field_names(source)
    return tuple(name for name in field_names(kind) if name in known or hasattr(source, name))


@cache
def _field_names(kind: Any) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind))
