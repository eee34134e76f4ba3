"""Text and results before they are logged or given away: without secrets, folders of this machine,
or control characters."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from modeldyno.core.codec import decode, encode
from modeldyno.core.names import name_of_file
from modeldyno.core.visible import visible_lines

if TYPE_CHECKING:
    from modeldyno.core.models import ModelFacts
    from modeldyno.core.results import RunResult

HIDDEN = "[hidden]"
_SHORTEST_SECRET = 8  # shorter ones would hide ordinary words

_HEADER = re.compile(
    r"""((?:proxy-)?authorization|(?:set-)?cookie|x-modeldyno-csrf)  # name
        (['"]?\s*[:=,]\s*(?:b?['"])?)                               # as header, pair or literal
        (?:[^'"\r\n]+)""",
    re.IGNORECASE | re.VERBOSE,
)
_BEARER = re.compile(r"\b(bearer)\s+[A-Za-z0-9._~+/=-]{8,}", re.IGNORECASE)
_QUERY = re.compile(
    r"(?:(?<=%3F)|(?<=%26)|\b)(token|code|csrf|password|secret)(=|%3D)[^&\s\"'#;,)]+", re.IGNORECASE
)
_USER = re.compile(r"\b([A-Za-z][A-Za-z0-9+.-]*://)[^/\s@'\"]+@")

# Escape sequences whole (CSI; OSC and its kin up to their end), then every other control character,
# then the invisible marks that turn the direction of text around.
_SEQUENCES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"
    r"|\x1b[ -/]*[0-~]?"
)
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def without_secrets(text: str, secrets: Iterable[str] = ()) -> str:
    """Hides ``secrets`` by value, wherever they are, and others by the words before them."""
    for secret in secrets:
        if len(secret) >= _SHORTEST_SECRET:
            text = text.replace(secret, HIDDEN)
    text = _HEADER.sub(rf"\1\2{HIDDEN}", text)
    text = _BEARER.sub(rf"\1 {HIDDEN}", text)
    text = _QUERY.sub(rf"\1\2{HIDDEN}", text)
    return _USER.sub(rf"\1{HIDDEN}@", text)


def without_controls(text: str) -> str:
    """Untrusted text for terminals and logs: of control characters, tabs and line ends stay."""
    return _CONTROLS.sub("", _SEQUENCES.sub("", text.replace("\r\n", "\n")))


# A path has two parts or more, so that "and/or" and "/api" stay as they are. A blank ends it, but
# not between quotes, in the name of somebody's folder, or before "(old)". What follows http://host
# is no path of ours.
_PART = r"(?:[^\s/\\'\"<>|:;,()]|(?<=\w)'(?=\w))+"
_FOLDER = rf"{_PART}(?:[ ]?\([^()\s/\\]*\))?[/\\]+"
_SOMEBODYS = rf"(?:home|Users)[/\\]+{_PART}(?:[ ]{_PART}){{0,2}}[/\\]+"
_BEFORE = r"(?:[A-Za-z][\w+.-]{0,20}://(?=/)|file://[^\s/]+(?=/)|~\w*|[A-Za-z]:)?"
_FOLDERS = re.compile(
    rf"(?<![\w./\\~]){_BEFORE}(?:(?<!:)[/\\]+|\\+|/(?!/))(?:{_SOMEBODYS}(?:{_FOLDER})*|(?:{_FOLDER})+)"
)
_QUOTED = re.compile(
    rf"(?<=['\"]){_BEFORE}[/\\](?:(?![ ][/~-])[^'\"\n])*[/\\](?=[^'\"/\\\n]*['\"])"
)


def without_folders(text: str) -> str:
    """``/home/ann/models/net.onnx`` → ``net.onnx``."""
    return _FOLDERS.sub("", _QUOTED.sub("", text))


class RedactingFormatter(logging.Formatter):
    """A formatter, not a filter of a logger, so that it covers tracebacks and libraries."""

    def __init__(
        self, fmt: str | None = None, secrets: Callable[[], Iterable[str]] = tuple
    ) -> None:
        super().__init__(fmt)
        self._secrets = secrets

    def format(self, record: logging.LogRecord) -> str:
        text = super().format(record)
        secrets = tuple(self._secrets())
        # A colour sequence inside a secret would hide it from us, not from readers.
        bare = without_controls(text)
        redacted = without_secrets(bare, secrets)
        if redacted == bare:
            redacted = without_secrets(visible_lines(text), secrets)
        return visible_lines(redacted).replace("\n", "\n    ")  # so that no text can forge a record


R = TypeVar("R", bound="RunResult")

_NOT_PLACES = ("node", "op_type")  # names in the model, some of which look like paths
_PLACES = ("path", "model", "label", "data", "folder")  # fields that hold a path and nothing else


def without_model_places(result: R, names: Mapping[str, str]) -> R:
    """Without folders of this machine; ``names`` maps stored paths to names of models."""
    cleaned: R = decode(type(result), _remove_folders(encode(result), names, ""))
    return cleaned


def without_places(facts: ModelFacts) -> ModelFacts:
    """The facts of a model without the folders of this machine."""
    cleaned: ModelFacts = decode(type(facts), _remove_folders(encode(facts), {}, ""))
    return cleaned


def without_folders_in(document: Any, names: Mapping[str, str]) -> Any:
    """Of a document as JSON values; ``names`` as above."""
    return _remove_folders(document, names, "")


def _remove_folders(json: Any, names: Mapping[str, str], field: str) -> Any:
    match json:
        case str():
            return _redact_text(json, names, field)
        case list():
            return [_remove_folders(member, names, field) for member in json]
        case dict():
            return {key: _remove_folders(member, names, key) for key, member in json.items()}
        case _:
            return json


def _redact_text(text: str, names: Mapping[str, str], field: str) -> str:
    if field in _NOT_PLACES:
        return text
    if text in names:
        return names[text]
    if field in _PLACES and "/" in text:
        return name_of_file(text)  # even if a folder has blanks in its name
    for path in names:
        if path in text:  # in a message of an engine
            text = text.replace(path, names[path])
    return without_folders(text)
