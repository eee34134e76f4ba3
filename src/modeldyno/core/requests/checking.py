"""What request fields may hold, what they mean, and what people type for them; and the check.

The terminal, Python, client, config files and edits call ``require_valid``. FastAPI checks bodies
of ``/api/v1`` through the same annotations: pydantic calls their ``__get_pydantic_…`` methods,
whose schemas are plain dictionaries, so this module does not need pydantic. A server accepts less
than a terminal, since strangers may use it.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import re
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from modeldyno.core.errors import BadValue

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


_WORDS: dict[Any, str] = {
    str: "a text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    types.NoneType: "nothing",
    tuple: "a list",
}
Naming = Callable[[str, Option | None], str]


def by_option(field: str, option: Option | None) -> str:
    """As the terminal and Python call it."""
    return option.name if option else field


def by_key(field: str, option: Option | None) -> str:
    """As a config file calls it."""
    return (option.key or option.name) if option else field


def by_field(field: str, _: Option | None) -> str:
    """As ``/api/v1`` calls it."""
    return field


def require_valid(request: Any, naming: Naming = by_option, *, on_server: bool = False) -> None:
    """Raises BadValue, which names the field, its value, and what would be accepted."""
    for field, annotation in hints(type(request)).items():
        name = naming(field, option_of(annotation))
        _require(name, annotation, getattr(request, field), on_server)


def hints(cls: Any) -> dict[str, Any]:
    """The annotated type of each field, in order."""
    return _field_types(cls)


@functools.cache
def _field_types(cls: Any) -> dict[str, Any]:
    known = typing.get_type_hints(cls, include_extras=True)
    return {field.name: known[field.name] for field in dataclasses.fields(cls)}


def option_of(annotation: Any) -> Option | None:
    return next((extra for extra in get_args(annotation)[1:] if isinstance(extra, Option)), None)


def _require(name: str, annotation: Any, value: Any, on_server: bool) -> None:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        _require(name, arguments[0], value, on_server)
        for extra in arguments[1:]:
            _require_bound(name, extra, value, on_server)
    elif origin in (Union, types.UnionType):
        _require_one_of(name, arguments, value, on_server)
    elif origin is tuple:
        _require_type(name, value, (tuple,), arguments[:1])
        for inner in value:
            _require(name, arguments[0], inner, on_server)
    elif origin is dict:
        if not isinstance(value, Mapping):
            raise BadValue(f"{name} takes names and values")
        for key, inner in value.items():
            _require(f"a name in {name}", arguments[0], key, on_server)
            _require(f"{name}: {str(key)[:100]}", arguments[1], inner, on_server)
    elif origin is Literal:
        if value not in arguments:
            raise BadValue(
                f"{name} cannot be {str(value)[:100]!r}",
                fix=f"Use one of {', '.join(map(str, arguments))}",
            )
    elif dataclasses.is_dataclass(annotation):
        require_valid(value, on_server=on_server)
    elif annotation is not Any:
        _require_type(name, value, (annotation,), (annotation,))


def _require_one_of(name: str, kinds: tuple[Any, ...], value: Any, on_server: bool) -> None:
    """The alternatives are told apart by their types; bounds are those of the one that fits."""
    if value is None and types.NoneType in kinds:
        return
    for kind in kinds:
        plain = _strip_annotation(kind)
        is_choice = get_origin(plain) is Literal
        if (is_choice and isinstance(value, str)) or (not is_choice and _is_of_type(value, plain)):
            _require(name, kind, value, on_server)
            return
    raise _wrong_type_error(name, tuple(kind for kind in kinds if kind is not types.NoneType))


def _require_bound(name: str, bound: object, value: Any, on_server: bool) -> None:
    match bound:
        case Range():
            if complaint := bound.complaint(value, on_server):
                raise BadValue(f"{name} must be {complaint}, not {_number_text(value)}")
        case Length():
            if len(value) < bound.least:
                raise BadValue(f"No value for {name}", fix="Give one or several, such as 1,2")
            if on_server and len(value) > bound.most:
                raise BadValue(f"{name} has {len(value)} values; a server takes {bound.most}")
        case OnServer():
            if on_server and value not in bound.names:
                raise BadValue(f"A server does not accept {value!r} as {name}")
        case Text():
            if on_server and not (len(value) <= bound.most and re.search(bound.pattern, value)):
                raise BadValue(f"A server does not accept {value[:100]!r} as {name}")


def _require_type(name: str, value: Any, kinds: tuple[Any, ...], accepted: tuple[Any, ...]) -> None:
    if not any(_is_of_type(value, kind) for kind in kinds):
        raise _wrong_type_error(name, accepted)


def _strip_annotation(kind: Any) -> Any:
    """The type itself: ``tuple`` of ``Annotated[tuple[int, ...], Length(5)]``."""
    plain = get_args(kind)[0] if get_origin(kind) is Annotated else kind
    return tuple if get_origin(plain) is tuple else plain


def _is_of_type(value: Any, kind: Any) -> bool:
    if isinstance(value, bool):
        return kind is bool
    if kind is tuple:
        return isinstance(value, tuple | list | range)
    return isinstance(value, (int, float) if kind is float else kind)


def _wrong_type_error(name: str, kinds: tuple[Any, ...]) -> BadValue:
    words = " or ".join(
        dict.fromkeys(_WORDS.get(_strip_annotation(kind), "a text") for kind in kinds)
    )
    return BadValue(f"{name} has an invalid value", why=f"it takes {words}")


def _number_text(value: float) -> str:
    try:
        return f"{value:g}"
    except OverflowError:  # a whole number may have any length
        return "a number that long"
