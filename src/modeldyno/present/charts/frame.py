"""What charts have in common: the picture, its words, and names cut to fit."""

from __future__ import annotations

from modeldyno.present.markup import Markup, tag

WIDTH = 560.0
# Noisy marks are filled with it; it stands once on a page.
HATCH = tag(
    "svg",
    tag(
        "defs",
        tag(
            "pattern",
            tag("rect", width=4, height=4, class_="paper"),
            tag("line", x1=1, y1=0, x2=1, y2=4, class_="hatching"),
            id="hatch",
            width=4,
            height=4,
            patternUnits="userSpaceOnUse",
            patternTransform="rotate(45)",
        ),
    ),
    width="0",
    height="0",
    class_="defs",
    aria_hidden="true",
)


def picture(height: float, title: str, summary: str, *inside: Markup) -> Markup:
    """A figure; ``summary`` says in a sentence what the eye sees."""
    drawn = tag(
        "svg",
        *inside,
        viewBox=f"0 0 {WIDTH:g} {height:g}",
        role="img",
        aria_label=f"{title} {summary}",
    )
    return tag("figure", tag("figcaption", tag("b", title), " ", summary), drawn)


def line(x1: float, y1: float, x2: float, y2: float, kind: str) -> Markup:
    return tag("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=kind)


def label(x: float, y: float, words: str, kind: str = "") -> Markup:
    return tag("text", words, x=x, y=y, class_=kind or None)


def cut(words: str, most: int) -> str:
    """One line of text, its middle left out where it is too long: names differ at both ends."""
    words = " ".join(words.split())
    if len(words) <= most:
        return words
    head = (most - 1) // 2
    return f"{words[:head]}…{words[len(words) - (most - 1 - head) :]}"
