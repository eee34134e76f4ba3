"""How a table fits a terminal without losing a digit."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

GAP = 2  # between two columns


def column_groups(narrowest: Sequence[int], keys: int, width: int) -> list[list[int]]:
    """Numbers of the columns of each table that is drawn: one if all fit ``width``, else several,
    each of which begins with the first ``keys`` columns."""
    if _table_width(narrowest) <= width:
        return [[*range(len(narrowest))]]
    head = [*range(keys)]
    groups = [[*head]]
    for number in range(keys, len(narrowest)):
        wider = [*groups[-1], number]
        if len(groups[-1]) > keys and _table_width([narrowest[n] for n in wider]) > width:
            groups.append([*head, number])
        else:
            groups[-1] = wider
    return groups


def fitted_widths(natural: Sequence[int], narrowest: Sequence[int], width: int) -> list[int]:
    """Widths of columns that fit together: the widest that can wrap gives way first. Wider than
    ``width`` only where the narrowest are."""
    widths = [*natural]
    while _table_width(widths) > width:
        shrinkable = [n for n, least in enumerate(narrowest) if widths[n] > least]
        if not shrinkable:
            break
        widths[max(shrinkable, key=lambda n: widths[n])] -= 1
    return widths


def narrowest_width(texts: Sequence[str], may_wrap: bool) -> int:
    """What a column needs at least: text breaks between words, a number never does."""
    parts = [part for text in texts for part in (text.split(" ") if may_wrap else [text])]
    return max(map(len, parts), default=0)


def folded(text: str, width: int, indent: str = "") -> str:
    """In lines, broken at ordinary spaces alone: a thin one is part of a number. A longer word
    keeps a line of its own."""
    return textwrap.fill(
        text,
        max(1, width),
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _table_width(columns: Sequence[int]) -> int:
    return sum(columns) + GAP * (len(columns) - 1)
