"""Names and texts of users, checked once before they are stored."""

from __future__ import annotations

import re

from modeldyno.core.errors import BadValue

LONGEST_NAME = 200
LONGEST_TEXT = 1_000_000


def checked_name(name: str) -> str:
    """Without surrounding blanks; raises BadValue if it is empty, too long or not printable."""
    name = name.strip()
    if not name or len(name) > LONGEST_NAME:
        raise BadValue(
            "A name has 1 to 200 characters", why=f"this one has {len(name)}", fix="Choose another"
        )
    if any(ord(letter) < 32 or ord(letter) == 127 or _is_surrogate(letter) for letter in name):
        raise BadValue(
            "A name is one line of text",
            why="this one has control characters",
            fix="Leave them out",
        )
    return name


def checked_text(text: str) -> str:
    """May have several lines; raises BadValue for what a database cannot store."""
    if len(text) > LONGEST_TEXT:
        raise BadValue(f"The text is too long ({len(text)} characters)", fix="Shorten it")
    if any(letter == "\0" or _is_surrogate(letter) for letter in text):
        raise BadValue("The text holds bytes that are no text", fix="Leave them out")
    return text


def name_of_file(path: str) -> str:
    """A printable name for a file, whatever bytes its file name has."""
    last = _last(path.rstrip("/"))
    plain = "".join("�" if ord(x) < 32 or ord(x) == 127 or _is_surrogate(x) else x for x in last)
    return plain.strip()[:LONGEST_NAME] or "model"


def shown_name(path: str) -> str:
    """Of a model: the file name of an absolute path; anything else is a name already."""
    return _last(path) if path.startswith("/") else path


def _last(path: str) -> str:
    """A SavedModel is named after its folder, since all have the same file name."""
    folder, _, last = path.rpartition("/")
    return folder.rpartition("/")[2] or last if last == "saved_model.pb" else last


def file_name_part(name: str) -> str:
    """``digits-onnx``: valid in every file system and header; may be empty."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower())[:60].strip("-")


def search_key(name: str) -> str:
    """For searching and sorting, the same in every database, whatever its locale."""
    return name.casefold()


def _is_surrogate(letter: str) -> bool:
    """Half of a surrogate pair: Python's form of bytes of a file name that are not UTF-8."""
    return "\ud800" <= letter <= "\udfff"
