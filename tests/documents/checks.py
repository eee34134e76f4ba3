"""How what was told is held against what is documented."""

from __future__ import annotations

from typing import Any

from tests.documents.documented import Documented, Said
from tests.documents.hearing import Heard
from tests.documents.likeness import differences
from tests.documents.settled import settled
from tests.documents.walk import Told


def answer_is_like(documented: Documented, told: Told) -> None:
    assert told.answer.status == 200, f"{documented.path}: {told.answer.status} {told.answer.text}"
    kind = told.answer.headers["content-type"]
    if isinstance(documented.answer, bytes):
        assert kind == "application/octet-stream", kind
    elif isinstance(documented.answer, str):
        first = documented.answer.splitlines()[:1]
        assert told.answer.text.splitlines()[: len(first)] == first, told.answer.text[:200]
    else:
        assert kind == "application/json", kind
        found = differences(documented.answer, told.json, settled(documented.path))
        assert not found, found


def events_of(told: Told) -> list[Heard]:
    """Those of this call: every event says whose it is."""
    whose = told.body.get("request_id", told.body.get("id"))
    return [one for one in told.events if whose in _ids(one[1]["data"])]


def _ids(data: dict[str, Any]) -> tuple[Any, Any]:
    return data.get("request_id"), data.get("id")


def events_are_like(documented: tuple[Said, ...], heard: list[Heard]) -> None:
    """The same ones in the same order, each in its envelope."""
    names, expected = [name for name, _ in heard], [said.name for said in documented]
    assert names == expected, f"{names}, not {expected}"
    for said, (name, payload) in zip(documented, heard, strict=True):
        assert list(payload) == ["status", "data"], list(payload)
        assert payload["status"] == said.status, payload["data"]
        found = differences(said.data, payload["data"], settled(name))
        assert not found, (name, found)
