"""Results for people elsewhere: the same, but for where things lie on this machine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from modeldyno.core.codec import decode, encode
from modeldyno.core.models import ModelFacts
from modeldyno.core.names import name_of_file
from modeldyno.core.redaction import without_folders
from modeldyno.core.results import RunResult

R = TypeVar("R", bound=RunResult)

_NOT_PLACES = ("node", "op_type")  # named in the model, and some look like paths
_PLACES = ("path", "model", "label", "data", "folder")  # fields that hold a path and nothing else


def placeless(result: R, names: Mapping[str, str]) -> R:
    """``names`` says how models are known that are kept under other names than their own."""
    cleaned: R = decode(type(result), _without(encode(result), names, ""))
    return cleaned


def without_places(facts: ModelFacts) -> ModelFacts:
    """What a file says of itself, and not where it lies."""
    cleaned: ModelFacts = decode(ModelFacts, _without(encode(facts), {}, ""))
    return cleaned


def without_folders_in(document: Any, names: Mapping[str, str]) -> Any:
    """A document as JSON values; ``names`` as above."""
    return _without(document, names, "")


def _without(value: Any, names: Mapping[str, str], field: str) -> Any:
    match value:
        case str():
            return _text(value, names, field)
        case list():
            return [_without(item, names, field) for item in value]
        case dict():
            return {key: _without(item, names, key) for key, item in value.items()}
        case _:
            return value


def _text(text: str, names: Mapping[str, str], field: str) -> str:
    if field in _NOT_PLACES:
        return text
    if text in names:
        return names[text]
    if field in _PLACES and "/" in text:
        return name_of_file(text)  # also of a folder with blanks in its name
    for path in names:
        if path in text:  # in what an engine says about it
            text = text.replace(path, names[path])
    return without_folders(text)
