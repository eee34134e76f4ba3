"""Whether an answer is like the documented one: every key is there, and of the documented type."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Protocol

ABSENT = object()
WHEN = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d|None")  # as all moments of `/api` are told


class Settled(Protocol):
    """What goes for a documented value where the document does not settle it, or None."""

    def __call__(self, at: str) -> Callable[[Any], bool] | None: ...


def differences(documented: Any, told: Any, settled: Settled, at: str = "") -> list[str]:
    """In words, and where. ``documented`` has examples or types; more keys are welcome."""
    is_right = settled(at)
    if is_right is not None:
        return [] if is_right(told) else [f"{at}: {_brief(told)} is not what was settled"]
    match documented:
        case dict():
            return _of_object(documented, told, settled, at)
        case list():
            return _of_list(documented, told, settled, at)
    if at.rpartition(".")[2].endswith("_at"):
        is_moment = isinstance(told, str) and WHEN.fullmatch(told)
        return [] if is_moment else [f"{at}: {_brief(told)} is no moment"]
    return [] if _is_like(documented, told) else [f"{at}: {_brief(told)}, not {_kind(documented)}"]


def _of_object(documented: dict[str, Any], told: Any, settled: Settled, at: str) -> list[str]:
    if not isinstance(told, dict):
        return [f"{at}: {_brief(told)}, not an object"]
    found: list[str] = []
    for name, example in documented.items():
        inside = f"{at}.{name}" if at else name
        is_right = settled(inside)
        if name in told:
            found += differences(example, told[name], settled, inside)
        elif is_right is None or not is_right(ABSENT):
            found.append(f"{inside}: is missing")
    return found


def _of_list(documented: list[Any], told: Any, settled: Settled, at: str) -> list[str]:
    """Each entry is like one of the examples; where there are examples, there are entries."""
    if not isinstance(told, list):
        return [f"{at}: {_brief(told)}, not a list"]
    if documented and not told:
        return [f"{at}: the list is empty"]
    for number, entry in enumerate(told if documented else ()):
        inside = f"{at}[{number}]"
        tried = [differences(example, entry, settled, inside) for example in documented]
        if all(tried):
            return min(tried, key=len)
    return []


def _kind(documented: Any) -> str:
    kind = documented if isinstance(documented, type) else type(documented)
    return {"NoneType": "null", "int": "a whole number", "float": "a number"}.get(
        kind.__name__, f"a {kind.__name__}"
    )


def _is_like(documented: Any, told: Any) -> bool:
    kind = documented if isinstance(documented, type) else type(documented)
    if kind is object:
        return True
    if isinstance(told, bool) or kind is bool:
        return isinstance(told, bool) and kind is bool
    return isinstance(told, (int, float) if kind is float else kind)


def _brief(told: Any) -> str:
    text = repr(told)
    return text if len(text) < 60 else f"{text[:57]}…"
