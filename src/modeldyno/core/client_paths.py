"""Untrusted paths, from a request or an archive. Text only; nothing is opened.

Such a path is a list of plain names, or it is refused. Nothing is repaired: where one program
repairs a path and another reads it differently, there is a hole.
"""

from __future__ import annotations

import re
import unicodedata
from urllib.parse import unquote

from modeldyno.core.errors import PathRefused

LONGEST = 4096
DEEPEST = 32
_LONGEST_NAME = 255  # bytes
# They change the direction of text: "gnp.exe" may be shown as "exe.png".
_BIDI = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")  # file:, dbfs:, C:


def names_in(path: str) -> tuple[str, ...]:
    """``a/b/c.onnx`` → its names; raises PathRefused unless each is a plain, visible one."""
    check_text(path)
    if path.startswith("/"):
        raise refused(path, "it starts at the root of the disk")
    names = tuple(path.split("/"))
    for name in names:
        if name in ("", ".", ".."):
            raise refused(path, "it holds an empty name, . or ..")
        if name.startswith("."):
            raise refused(path, "hidden files are not served")
        if len(name.encode()) > _LONGEST_NAME:
            raise refused(path, "a name in it is too long")
    if len(names) > DEEPEST:
        raise refused(path, f"it is more than {DEEPEST} folders deep")
    return names


def check_text(path: str) -> None:
    """Raises PathRefused for what no path may contain, as given or percent-decoded."""
    if not path or len(path) > LONGEST:
        raise refused(path, "it is empty or too long")
    decoded = unquote(path, errors="surrogateescape")
    if unquote(decoded, errors="surrogateescape") != decoded:
        raise refused(path, "it is percent-encoded more than once")
    _check(path, path)
    if decoded != path:
        _check(decoded, path)
        if decoded.startswith("/") or ".." in decoded.split("/"):
            raise refused(path, "it hides another path behind percent signs")


def _check(text: str, path: str) -> None:
    if any(unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") for c in text):
        raise refused(path, "it holds control characters, or is not text")
    if not _BIDI.isdisjoint(text):
        raise refused(path, "it holds characters that turn the direction of writing")
    if text.startswith("~"):
        raise refused(path, "home folders are not looked up")
    if "\\" in text or text.startswith("//"):
        raise refused(path, "it is written for Windows or for a network share")
    if _SCHEME.match(text):
        raise refused(path, "it is an address or names a drive")


def refused(path: str, why: str) -> PathRefused:
    return PathRefused(
        f'"{shown(path)}" cannot be used as a path',
        why=why,
        fix="Give a path below one of the folders that this server was allowed to use",
    )


def shown(text: str) -> str:
    """Printable and short, for a message."""
    plain = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
    return plain if len(plain) <= 100 else plain[:99] + "…"
