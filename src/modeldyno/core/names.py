"""Names and texts of users, checked once before they are stored."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from difflib import SequenceMatcher
from pathlib import PurePath
from urllib.parse import unquote

from modeldyno.core.errors import BadValue, PathRefused

LONGEST_NAME = 200
LONGEST_TEXT = 1_000_000
_SAME_SUFFIX = 0.7  # how alike stems must be, 0 to 1: glyph and glyphs are, nope and text are not
_OTHER_SUFFIX = 0.9  # the suffix does not count towards it: all models end in .onnx
_PRIVATE_COPY = re.compile(r"[^\s'\"]*/\d{8}-\d{6}-[0-9a-f]{6,40}/(?:model|scratch)/")


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
        raise BadValue("The text holds bytes that are not text", fix="Leave them out")
    return text


def name_of_file(path: str) -> str:
    """A printable name for a file, whatever bytes its file name has."""
    last = _last_part(path.rstrip("/"))
    plain = "".join("�" if ord(x) < 32 or ord(x) == 127 or _is_surrogate(x) else x for x in last)
    return plain.strip()[:LONGEST_NAME] or "model"


def shown_name(path: str) -> str:
    """Of a model: the file name of an absolute path; anything else is a name already."""
    return _last_part(path) if path.startswith("/") else path


def _last_part(path: str) -> str:
    """A SavedModel is named after its folder, since all have the same file name."""
    folder, _, last = path.rpartition("/")
    return folder.rpartition("/")[2] or last if last == "saved_model.pb" else last


def without_private_copies(text: str) -> str:
    """Engines name the copy that a run made of a file: people know it without that folder."""
    return _PRIVATE_COPY.sub("", text)


def file_name_part(name: str) -> str:
    """``digits-onnx``: valid in every file system and header; may be empty."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower())[:60].strip("-")


def search_key(name: str) -> str:
    """For searching and sorting, the same in every database, whatever its locale."""
    return name.casefold()


def _is_surrogate(letter: str) -> bool:
    """Half of a surrogate pair: Python's form of bytes of a file name that are not UTF-8."""
    return "\ud800" <= letter <= "\udfff"


LONGEST_PATH = 4096
DEEPEST_PATH = 32
_LONGEST_FILE_NAME_BYTES = 255
# They change the direction of text: "gnp.exe" may be shown as "exe.png".
_BIDI = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")  # file:, dbfs:, C:


def names_in(path: str) -> tuple[str, ...]:
    """``a/b/c.onnx`` → its names; raises PathRefused unless each is a plain, visible one."""
    require_plain_path(path)
    if path.startswith("/"):
        raise path_refused(path, "it starts at the root of the disk")
    names = tuple(path.split("/"))
    for name in names:
        if name in ("", ".", ".."):
            raise path_refused(path, "it holds an empty name, . or ..")
        if name.startswith("."):
            raise path_refused(path, "hidden files are not served")
        if len(name.encode()) > _LONGEST_FILE_NAME_BYTES:
            raise path_refused(path, "a name in it is too long")
    if len(names) > DEEPEST_PATH:
        raise path_refused(path, f"it is more than {DEEPEST_PATH} folders deep")
    return names


def require_plain_path(path: str) -> None:
    """Raises PathRefused for what no path may contain, as given or percent-decoded."""
    if not path or len(path) > LONGEST_PATH:
        raise path_refused(path, "it is empty or too long")
    decoded = unquote(path, errors="surrogateescape")
    if unquote(decoded, errors="surrogateescape") != decoded:
        raise path_refused(path, "it is percent-encoded more than once")
    _require_plain_text(path, path)
    if decoded != path:
        _require_plain_text(decoded, path)
        if decoded.startswith("/") or ".." in decoded.split("/"):
            raise path_refused(path, "it hides another path behind percent signs")


def _require_plain_text(text: str, path: str) -> None:
    if any(unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") for c in text):
        raise path_refused(path, "it holds control characters, or is not text")
    if not _BIDI.isdisjoint(text):
        raise path_refused(path, "it holds characters that turn the direction of writing")
    if text.startswith("~"):
        raise path_refused(path, "home folders are not looked up")
    if "\\" in text or text.startswith("//"):
        raise path_refused(path, "it is written for Windows or for a network share")
    if _SCHEME.match(text):
        raise path_refused(path, "it is an address or names a drive")


def path_refused(path: str, why: str) -> PathRefused:
    return PathRefused(
        f'"{printable(path)}" cannot be used as a path',
        why=why,
        fix="Give a path below one of the folders that this server was allowed to use",
    )


def printable(text: str) -> str:
    """Printable and short, for a message."""
    plain = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
    return plain if len(plain) <= 100 else plain[:99] + "…"


def find_similar_names(name: str, names: Iterable[str], most: int = 1) -> list[str]:
    """Names that differ from ``name`` by what looks like a typo, the closest first. No guess is
    better than a far-fetched one."""
    likeness = {candidate: _likeness(name, candidate) for candidate in names}
    close = [candidate for candidate, alike in likeness.items() if alike > 0]
    return sorted(close, key=lambda candidate: (-likeness[candidate], candidate))[:most]


def _likeness(name: str, candidate: str) -> float:
    """How alike the stems are; 0 if not alike enough."""
    wanted, other = PurePath(name.lower()), PurePath(candidate.lower())
    alike = SequenceMatcher(None, wanted.stem, other.stem).ratio()
    same = wanted.suffix == other.suffix
    return alike + same if alike >= (_SAME_SUFFIX if same else _OTHER_SUFFIX) else 0.0
