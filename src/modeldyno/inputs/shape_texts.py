"""Shapes as people write them: ``28,28,1``, or ``[28,28,1],[10]`` for several."""

from __future__ import annotations

import re

from modeldyno.core.errors import BadValue

MOST_SHAPES = 100
MOST_SIZES = 16
LARGEST = 2**31 - 1

_BRACKETS = re.compile(r"[\[(]([^\[\]()]*)[\])]")
_SEVERAL = re.compile(r"\s*(?:[\[(][^\[\]()]*[\])]\s*,?\s*)+")


def shapes_in(text: str) -> tuple[tuple[int, ...], ...]:
    """Each shape with its sizes, none when there is nothing; raises BadValue."""
    said = text.strip()
    if said.startswith("[[") and said.endswith("]]"):  # a list of lists, as JSON has it
        said = said[1:-1]
    if not said:
        return ()
    parts = _BRACKETS.findall(said) if _SEVERAL.fullmatch(said) else [said]
    if len(parts) > MOST_SHAPES:
        raise _bad(text)
    return tuple(_sizes(part, text) for part in parts)


def _sizes(part: str, text: str) -> tuple[int, ...]:
    words = [word.strip() for word in part.split(",") if word.strip()]
    is_plain = all(word.isascii() and word.isdecimal() and len(word) <= 10 for word in words)
    if not words or len(words) > MOST_SIZES or not is_plain:
        raise _bad(text)
    sizes = tuple(int(word) for word in words)
    if not all(1 <= size <= LARGEST for size in sizes):
        raise _bad(text)
    return sizes


def _bad(text: str) -> BadValue:
    return BadValue(
        f"{text[:100]!r} is no shape",
        why="a shape is sizes from 1 on with commas between them, without the batch",
        fix="Write 224,224,3, or [224,224,3],[10] for several inputs",
    )
