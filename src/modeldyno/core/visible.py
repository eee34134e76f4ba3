"""Makes untrusted text safe to show in a terminal or a log.

Names in a model, error texts of a worker and file names may hold anything: sequences that clear the
screen or set its title, marks that reverse the direction of text, line ends that forge a line. They
are escaped: ``\\x1b``, ``\\u202e``, ``\\n``. Letters, accents and emoji stay as they are.
"""

from __future__ import annotations

import shlex
import unicodedata

# Controls, format characters, lone surrogates, and Unicode's own line and paragraph ends.
# Unassigned characters stay: an emoji may be newer than this Python.
_HIDDEN = frozenset(("Cc", "Cf", "Cs", "Zl", "Zp"))
_JOINERS = "\u200c\u200d"  # inside emoji (families, flags) and words of Persian or Hindi


def visible(text: str) -> str:
    """One line, with control and invisible characters escaped."""
    if text.isprintable():
        return text
    return "".join(
        c.encode("unicode_escape").decode() if _is_hidden(text, at) else c
        for at, c in enumerate(text)
    )


def visible_lines(text: str) -> str:
    """The same for several lines: line ends and tabs stay."""
    lines = text.replace("\r\n", "\n").split("\n")
    return "\n".join("\t".join(map(visible, line.split("\t"))) for line in lines)


def shell_word(text: str) -> str:
    """A word to paste into a shell; with hidden characters as ``$'…'``, which means the same."""
    if visible(text) == text:
        return shlex.quote(text)
    return "$'" + "".join(_escape_for_shell(text, at) for at in range(len(text))) + "'"


def _escape_for_shell(text: str, at: int) -> str:
    c = text[at]
    if not _is_hidden(text, at):
        return f"\\{c}" if c in "\\'" else c
    if "\udc80" <= c <= "\udcff":  # a byte of a file name that is not UTF-8
        return f"\\x{ord(c) - 0xDC00:02x}"
    # Shells read \x as a byte, and a character beyond ASCII has several.
    return c.encode("unicode_escape").decode() if c.isascii() else f"\\U{ord(c):08x}"


def _is_hidden(text: str, at: int) -> bool:
    if unicodedata.category(text[at]) not in _HIDDEN:
        return False
    return text[at] not in _JOINERS or not (_is_joined(text, at - 1) and _is_joined(text, at + 1))


def _is_joined(text: str, at: int) -> bool:
    return 0 <= at < len(text) and not text[at].isascii() and text[at].isprintable()
