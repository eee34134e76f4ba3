"""Annotations of request fields: what a value may be, what it means, and what people type.

``checking.py`` reads them for the terminal, Python and config files. FastAPI reads the same ones:
pydantic calls the ``__get_pydantic_…`` methods, and its schemas are plain dictionaries, so that
nothing here needs pydantic. A server accepts less than a terminal: strangers may ask it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]

_BOUNDS = (
    *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"),
    *("minLength", "maxLength", "minItems", "maxItems", "maxProperties", "pattern"),
)


class _Bound:
    """Adds constraints to pydantic's schema. An answer may be beyond them: it repeats what a
    terminal asked for."""

    __slots__ = ()

    def constraints(self, kind: str) -> Json:
        raise NotImplementedError

    def __get_pydantic_core_schema__(self, source: Any, handler: Callable[[Any], Json]) -> Json:
        schema = handler(source)
        return schema | self.constraints(schema["type"])

    def __get_pydantic_json_schema__(self, schema: Json, handler: Any) -> Json:
        described: Json = handler(schema)
        if handler.mode == "serialization":
            return {name: value for name, value in described.items() if name not in _BOUNDS}
        return described


@dataclass(frozen=True, slots=True)
class Range(_Bound):
    """From ``least`` to ``most``, both included unless it ``is_open``."""

    least: float = -math.inf
    most: float = math.inf
    server: float | None = None  # the most that a server accepts, if that is less
    is_open: bool = False
    unit: str = ""

    def constraints(self, kind: str) -> Json:
        low, high = ("gt", "lt") if self.is_open else ("ge", "le")
        bounds: Json = {low: self.least} if self.least > -math.inf else {}
        if self.server is not None:
            bounds["le"] = self.server
        elif self.most < math.inf:
            bounds[high] = self.most
        return bounds if kind == "int" else bounds | {"allow_inf_nan": False}

    def complaint(self, value: float, on_server: bool) -> str:
        """What ``value`` must be instead; empty if it is fine."""
        if on_server and self.server is not None and value > self.server:
            return f"at most {self.server}"
        if self.least == -math.inf:
            return ""
        if self.is_open and not self.least < value < self.most:
            kind = f"a number of {self.unit} " if self.unit else ""
            top = f" and below {self.most:g}" if self.most < math.inf else ""
            return f"{kind}above {self.least:g}{top}"
        if value < self.least:
            return f"at least {self.least}"
        return f"at most {self.most}" if value > self.most else ""


@dataclass(frozen=True, slots=True)
class Length(_Bound):
    """So many values; a terminal may give more than ``most``."""

    most: int
    least: int = 0

    def constraints(self, kind: str) -> Json:
        return {"max_length": self.most} | ({"min_length": self.least} if self.least else {})


@dataclass(frozen=True, slots=True)
class Text(_Bound):
    """What a server accepts as text; a terminal may write anything."""

    most: int
    pattern: str

    def constraints(self, kind: str) -> Json:
        return {"min_length": 1, "max_length": self.most, "pattern": self.pattern}


@dataclass(frozen=True, slots=True)
class OnServer:
    """The choices that a server accepts, of ``all`` that there are."""

    names: tuple[str, ...]
    all: tuple[str, ...]

    def __get_pydantic_core_schema__(self, source: Any, handler: Callable[[Any], Json]) -> Json:
        return handler(source) | {"expected": list(self.names)}

    def __get_pydantic_json_schema__(self, schema: Json, handler: Any) -> Json:
        names = self.all if handler.mode == "serialization" else self.names
        described: Json = handler(schema)
        return described | {"enum": list(names)}


@dataclass(frozen=True, slots=True)
class Doc:
    """What a field means, and an example of it, for the OpenAPI document."""

    description: str = ""
    example: Any = None

    def __get_pydantic_json_schema__(self, schema: Json, handler: Any) -> Json:
        described: Json = handler(schema)
        if self.description:
            described["description"] = self.description
        if self.example is not None:
            described["examples"] = [self.example]
        return described


@dataclass(frozen=True, slots=True)
class Option:
    """What people type for a field, where it is not the field's name: ``--batch`` in the terminal,
    ``batch=`` in Python and after the @ of a side; ``key`` in a config file."""

    name: str
    key: str = ""
