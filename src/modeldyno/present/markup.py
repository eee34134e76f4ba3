"""HTML and SVG, element by element: text is escaped unless it was made here."""

from __future__ import annotations

import re
from html import escape

# What no document may hold: control characters, and halves of surrogate pairs.
_NO_TEXT = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")
_VOID = ("meta", "br")


class Markup(str):
    """Is markup already."""

    __slots__ = ()


def tag(name: str, *inside: str, **attributes: str | float | None) -> Markup:
    """``tag("p", "a < b", class_="x")``; an attribute that is None is left out.

    Underscores in names become hyphens (``stroke_width``); one at the end is dropped.
    """
    said = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{text(_attribute_text(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    end = "" if name in _VOID else f"</{name}>"
    return Markup(f"<{name}{said}>{joined(*inside)}{end}")


def joined(*parts: str) -> Markup:
    return Markup("".join(text(part) for part in parts))


def text(value: str) -> Markup:
    """Escaped, unless it is markup."""
    if isinstance(value, Markup):
        return value
    return Markup(escape(_NO_TEXT.sub("\ufffd", value)))


def _attribute_text(value: str | float) -> str:
    """Places in a drawing need no more than a hundredth."""
    return value if isinstance(value, str) else f"{value:.2f}".rstrip("0").rstrip(".")
