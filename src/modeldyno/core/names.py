"""Words that people give to things, checked once before they are kept."""

from __future__ import annotations

import re

from modeldyno.core.errors import BadValue

LONGEST_NAME = 200
LONGEST_TEXT = 1_000_000


def checked_name(name: str) -> str:
    """Without blanks around it; raises BadValue when it is empty, too long or not printable."""
    name = name.strip()
    if not name or len(name) > LONGEST_NAME:
        raise BadValue(
            "A name has 1 to 200 characters", why=f"this one has {len(name)}", fix="Choose another"
        )
    if any(ord(letter) < 32 or ord(letter) == 127 or _is_half(letter) for letter in name):
        raise BadValue(
            "A name is one line of text",
            why="this one has control characters",
            fix="Leave them out",
        )
    return name


def checked_text(text: str) -> str:
    """Several lines are welcome; what no database can keep is not."""
    if len(text) > LONGEST_TEXT:
        raise BadValue(f"The text is too long ({len(text)} characters)", fix="Shorten it")
    if any(letter == "\0" or _is_half(letter) for letter in text):
        raise BadValue("The text holds bytes that are no text", fix="Leave them out")
    return text


def name_of_file(path: str) -> str:
    """A name for what lies there, whatever bytes the file system allows in one."""
    last = _last(path.rstrip("/"))
    plain = "".join("�" if ord(x) < 32 or ord(x) == 127 or _is_half(x) else x for x in last)
    return plain.strip()[:LONGEST_NAME] or "model"


def shown_name(path: str) -> str:
    """Of a model: a file goes by its name; what is no path is a name already, slashes and all."""
    return _last(path) if path.startswith("/") else path


def _last(path: str) -> str:
    """A SavedModel goes by the name of its folder: the file in it is called the same in all."""
    folder, _, last = path.rpartition("/")
    return folder.rpartition("/")[2] or last if last == "saved_model.pb" else last


def file_name_part(name: str) -> str:
    """``digits-onnx``: what every file system and every header takes; may be empty."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower())[:60].strip("-")


def search_key(name: str) -> str:
    """How a name is sought and sorted: the same in every database, whatever its locale."""
    return name.casefold()


def _is_half(letter: str) -> bool:
    """Half of a surrogate pair: how Python shows bytes of a file name that are not UTF-8."""
    return "\ud800" <= letter <= "\udfff"
