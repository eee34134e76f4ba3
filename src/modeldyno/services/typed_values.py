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


def typed(type: Type, name: str, value: Any) -> Any:
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


def _text(value: Any) -> Any:
    if isinstance(value, list) and len(value) <= MOST_PARTS:
        return [_text(part) for part in value if not isinstance(part, list)]
    if not isinstance(value, str) or len(value) > MOST_TEXT:
        raise TypeError
    return value


def _truth(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    truth = _WORDS.get(str(value).strip().lower())
    if truth is None:
        raise ValueError
    return truth


def _number(value: Any) -> float:
    """A fraction may be written as one: ``3 / 4``."""
    if isinstance(value, str):
        above, _, below = _short(value).partition("/")
        value = float(above) / float(below or 1)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError
    number = float(value)
    if not math.isfinite(number):
        raise ValueError
    return number


def _whole(value: Any) -> int:
    number = _number(value)
    if not number.is_integer() or abs(number) > 2**53:
        raise ValueError
    return int(number)


def _list(read: Callable[[Any], Any]) -> Callable[[Any], list[Any]]:
    def read_all(value: Any) -> list[Any]:
        if isinstance(value, str):
            inside = _short(value).strip().strip("[]()").strip()
            value = inside.split(",") if inside else []
        parts = value if isinstance(value, list) else [value]
        if len(parts) > MOST_PARTS:
            raise ValueError
        return [read(part) for part in parts]

    return read_all


def _shapes(value: Any) -> list[Any]:
    """``[3, 224]`` is a shape, ``[[3, 224], [10]]`` and ``[3, 224], [10]`` are two."""
    if isinstance(value, str):
        text = _short(value).replace("(", "[").replace(")", "]")
        try:
            value = json.loads(text)
        except ValueError:
            value = json.loads(f"[{text}]")
    parts = value if isinstance(value, list) else [value]
    if len(parts) > MOST_PARTS:
        raise ValueError
    return [_WHOLES(part) if isinstance(part, list) else _whole(part) for part in parts]


def _choice(value: Any) -> int:
    """A form that was left as it was sends all there is to choose from: the first is meant."""
    return _whole(value[0] if isinstance(value, list) and value else value)


def _parts(value: Any) -> Any:
    raise TypeError  # these are read one by one


def _short(text: str) -> str:
    if len(text) > MOST_TEXT:
        raise ValueError
    return text


_WHOLES = _list(_whole)
_READ: dict[Type, tuple[Callable[[Any], Any], str]] = {
    "text": (_text, f"a text of at most {MOST_TEXT} letters"),
    "whole": (_whole, "a whole number: 224"),
    "number": (_number, "a number: 0.875"),
    "wholes": (_WHOLES, "whole numbers: 224, 224"),
    "numbers": (_list(_number), "numbers: 0.485, 0.456, 0.406"),
    "shapes": (_shapes, "a shape: [3, 224, 224], or several: [[3, 224, 224], [10]]"),
    "truth": (_truth, "true or false"),
    "choice": (_choice, "one of the numbers that are offered"),
    "": (_parts, "an object with its parts"),
}
