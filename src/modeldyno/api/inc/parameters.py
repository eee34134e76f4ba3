"""What a client of ``/api`` sent: from a JSON body or a query alike, numbers as text or not."""

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
    """A query has lists only; where one value is wanted, a list of one is that value."""

    def __init__(self, said: Mapping[str, Any]) -> None:
        self._said = said

    def __contains__(self, name: str) -> bool:
        return self._said.get(name) is not None

    def value(self, name: str, default: Any = None) -> Any:
        """As it was sent."""
        found = self._said.get(name)
        if isinstance(found, list) and len(found) == 1:
            found = found[0]
        return default if found is None else found

    def id(self, name: str = "id", missing: str = "") -> int:
        """Raises BadValue with ``missing``, the text that clients of the original know."""
        if name not in self:
            raise BadValue(missing or f"Could not find {name}.")
        return self.whole(name, least=1, most=MOST_ID)

    def whole(self, name: str, default: int = _NONE, *, least: int = 0, most: int = MOST_ID) -> int:
        found = self.value(name)
        if found is None:
            return self._default(name, default)
        number = _whole(found)
        if number is None or not least <= number <= most:
            raise BadValue(
                f"{name} is no number that we take",
                why=f"it is a whole number from {least} to {most}",
            )
        return number

    def dataset_id(self) -> DatasetId | None:
        """-1 is what ``project/create`` says when it made no dataset."""
        number = self.whole("dataset_id", least=-1)
        return DatasetId(number) if number > 0 else None

    def text(self, name: str, default: str = _NONE) -> str:
        found = self.value(name)
        if found is None:
            return self._default(name, default)
        if not isinstance(found, str) or len(found) > MOST_TEXT:
            raise BadValue(f"{name} is no text", why=f"it is a text of at most {MOST_TEXT} letters")
        return found

    def texts(self, name: str) -> tuple[str, ...]:
        """Of a list, of ``a,b``, or of the same name several times in a query; blanks left out."""
        found = self._said.get(name)
        parts = found if isinstance(found, list) else [] if found is None else [found]
        if not all(isinstance(part, str) and len(part) <= MOST_TEXT for part in parts):
            raise BadValue(f"{name} is no list of texts")
        return tuple(one.strip() for part in parts for one in part.split(",") if one.strip())

    def inside(self, name: str) -> Parameters:
        """An object in the body; empty when there is none."""
        found = self.value(name, {})
        if not isinstance(found, dict):
            raise BadValue(f"{name} is no object")
        return Parameters(found)

    @property
    def said(self) -> Mapping[str, Any]:
        return self._said

    def _default(self, name: str, default: T) -> T:
        if default is _NONE:
            raise BadValue(MISSING, why=f"there is no {name}")
        return default


def _whole(found: Any) -> int | None:
    match found:
        case bool():
            return None
        case int():
            return found
        case float() if found.is_integer():
            return int(found)
        case str() if found.strip().lstrip("-").isdecimal() and len(found) < 20:
            return int(found)
        case _:
            return None
