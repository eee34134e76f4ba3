"""What forms send, as the value that was meant: ``"224, 224"`` is a list of two numbers."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

from modeldyno.core.dictionaries import Type
from modeldyno.core.errors import BadValue

MOST_TEXT = 2000
MOST_PARTS = 100
_WORDS = {
    **dict.fromkeys(("true", "t", "yes", "y", "1", "on"), True),
    **dict.fromkeys(("false", "f", "no", "n", "0", "off"), False),
}


def convert_value(type: Type, name: str, value: Any) -> Any:
    """Raises BadValue, with an example of what would do."""
    read, example = _READ[type]
    try:
        return read(value)
    except (ValueError, TypeError, ArithmeticError, RecursionError) as error:
        raise BadValue(
            f"{name} cannot be {json.dumps(value)[:100]}", fix=f"Send {example}"
        ) from error


def is_blank(value: Any) -> bool:
    """What a form sends for a field that was left empty."""
    return value is None or (isinstance(value, str) and not value.strip())


def _to_text(value: Any) -> Any:
    if isinstance(value, list) and len(value) <= MOST_PARTS:
        return [_to_text(part) for part in value if not isinstance(part, list)]
    if not isinstance(value, str) or len(value) > MOST_TEXT:
        raise TypeError
    return value


def _to_bool(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    truth = _WORDS.get(str(value).strip().lower())
    if truth is None:
        raise ValueError
    return truth


def _to_float(value: Any) -> float:
    """A fraction may be written as one: ``3 / 4``."""
    if isinstance(value, str):
        above, _, below = _shorten(value).partition("/")
        value = float(above) / float(below or 1)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError
    number = float(value)
    if not math.isfinite(number):
        raise ValueError
    return number


def _to_int(value: Any) -> int:
    number = _to_float(value)
    if not number.is_integer() or abs(number) > 2**53:
        raise ValueError
    return int(number)


def _make_list_converter(read: Callable[[Any], Any]) -> Callable[[Any], list[Any]]:
    def read_all(value: Any) -> list[Any]:
        if isinstance(value, str):
            inside = _shorten(value).strip().strip("[]()").strip()
            value = inside.split(",") if inside else []
        parts = value if isinstance(value, list) else [value]
        if len(parts) > MOST_PARTS:
            raise ValueError
        return [read(part) for part in parts]

    return read_all


def _to_shapes(value: Any) -> list[Any]:
    """``[3, 224]`` is a shape, ``[[3, 224], [10]]`` and ``[3, 224], [10]`` are two."""
    if isinstance(value, str):
        text = _shorten(value).replace("(", "[").replace(")", "]")
        try:
            value = json.loads(text)
        except ValueError:
            value = json.loads(f"[{text}]")
    parts = value if isinstance(value, list) else [value]
    if len(parts) > MOST_PARTS:
        raise ValueError
    return [_WHOLES(part) if isinstance(part, list) else _to_int(part) for part in parts]


def _to_choice(value: Any) -> int:
    """A form that was left as it was sends all there is to choose from: the first is meant."""
    return _to_int(value[0] if isinstance(value, list) and value else value)


def _split_parts(value: Any) -> Any:
    raise TypeError  # these are read one by one


def _shorten(text: str) -> str:
    if len(text) > MOST_TEXT:
        raise ValueError
    return text


_WHOLES = _make_list_converter(_to_int)
_READ: dict[Type, tuple[Callable[[Any], Any], str]] = {
    "text": (_to_text, f"a text of at most {MOST_TEXT} letters"),
    "whole": (_to_int, "a whole number: 224"),
    "number": (_to_float, "a number: 0.875"),
    "wholes": (_WHOLES, "whole numbers: 224, 224"),
    "numbers": (_make_list_converter(_to_float), "numbers: 0.485, 0.456, 0.406"),
    "shapes": (_to_shapes, "a shape: [3, 224, 224], or several: [[3, 224, 224], [10]]"),
    "truth": (_to_bool, "true or false"),
    "choice": (_to_choice, "one of the numbers that are offered"),
    "": (_split_parts, "an object with its parts"),
}
