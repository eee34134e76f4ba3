"""What a client of ``/api`` sent, in a JSON body or a query; numbers may be text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from modeldyno.api.v1.shape import MOST_ID
from modeldyno.core.errors import BadValue
from modeldyno.core.ids import DatasetId

MOST_TEXT = 2000
MISSING = "Could not find required parameter."

T = TypeVar("T")
_NONE = cast("Any", object())


class Parameters:
    """A query has only lists; a list of one is taken as that value unless a list is expected."""

    def __init__(self, raw: Mapping[str, Any]) -> None:
        self.raw = raw

    def __contains__(self, name: str) -> bool:
        return self.raw.get(name) is not None

    def value(self, name: str, default: Any = None) -> Any:
        """As it was sent."""
        value = self.raw.get(name)
        if isinstance(value, list) and len(value) == 1:
            value = value[0]
        return default if value is None else value

    def id(self, name: str = "id", missing: str = "") -> int:
        """Raises BadValue, titled ``missing`` if there is none: a text that clients know."""
        if name not in self:
            raise BadValue(missing or f"Could not find {name}.")
        return self.integer(name, least=1, most=MOST_ID)

    def integer(
        self, name: str, default: int = _NONE, *, least: int = 0, most: int = MOST_ID
    ) -> int:
        value = self.value(name)
        if value is None:
            return self._default(name, default)
        number = _integer(value)
        if number is None or not least <= number <= most:
            raise BadValue(
                f"{name} is not a valid number",
                why=f"it is a whole number from {least} to {most}",
            )
        return number

    def dataset_id(self) -> DatasetId | None:
        """None for -1, which ``project/create`` answers when it made no dataset."""
        number = self.integer("dataset_id", least=-1)
        return DatasetId(number) if number > 0 else None

    def text(self, name: str, default: str = _NONE) -> str:
        text = self.value(name)
        if text is None:
            return self._default(name, default)
        if not isinstance(text, str) or len(text) > MOST_TEXT:
            raise BadValue(
                f"{name} is not a text", why=f"it is a text of at most {MOST_TEXT} letters"
            )
        return text

    def texts(self, name: str) -> tuple[str, ...]:
        """From a list, ``a,b``, or a name that a query repeats; empty texts are left out."""
        raw = self.raw.get(name)
        parts = raw if isinstance(raw, list) else [] if raw is None else [raw]
        if not all(isinstance(part, str) and len(part) <= MOST_TEXT for part in parts):
            raise BadValue(f"{name} is not a list of texts")
        return tuple(text.strip() for part in parts for text in part.split(",") if text.strip())

    def nested(self, name: str) -> Parameters:
        """An object in the body; empty when there is none."""
        values = self.value(name, {})
        if not isinstance(values, dict):
            raise BadValue(f"{name} is not an object")
        return Parameters(values)

    def _default(self, name: str, default: T) -> T:
        if default is _NONE:
            raise BadValue(MISSING, why=f"there is no {name}")
        return default


def _integer(value: Any) -> int | None:
    match value:
        case bool():
            return None
        case int():
            return value
        case float() if value.is_integer():
            return int(value)
        case str() if value.strip().lstrip("-").isdecimal() and len(value) < 20:
            return int(value)
        case _:
            return None
