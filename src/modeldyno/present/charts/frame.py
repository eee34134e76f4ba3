"""What charts have in common: the picture, its words, and names cut to fit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from modeldyno.core.figures import magnitude
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


def svg_picture(height: float, title: str, summary: str, *inside: Markup) -> Markup:
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


def cut_to_length(words: str, most: int) -> str:
    """One line of text, its middle left out where it is too long: names differ at both ends."""
    words = " ".join(words.split())
    if len(words) <= most:
        return words
    head = (most - 1) // 2
    return f"{words[:head]}…{words[len(words) - (most - 1 - head) :]}"


# ---------------------------------------------------------------- scales

_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
_LARGEST_LINEAR = 3.0  # times the smallest; beyond, the axis of ratios goes by halves and doubles


@dataclass(frozen=True)
class Scale:
    """Values from ``low`` to ``high`` lie between two places of the drawing."""

    low: float
    high: float
    start: float
    end: float
    kind: Literal["linear", "log"] = "linear"

    def place(self, value: float) -> float:
        low, high, here = (self._apply_log(position) for position in (self.low, self.high, value))
        share = (here - low) / (high - low) if high > low else 0.5
        return self.start + share * (self.end - self.start)

    def _apply_log(self, value: float) -> float:
        return math.log2(value) if self.kind == "log" else value


def nice_ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Round values around ``low`` and ``high``: the first is not above, the last not below."""
    if not high > low:
        high = low + (abs(low) or 1.0)
    rough = (high - low) / (most - 1)
    size = 10.0 ** magnitude(rough)
    step = next(part * size for part in _STEPS if part * size >= rough * (1 - 1e-9))
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [number * step for number in range(first, last + 1)]


def ratio_ticks(low: float, high: float) -> list[float]:
    """Of ratios: both sides of 1, whichever it is."""
    low, high = min(low, 1.0), max(high, 1.0)
    if high / low <= _LARGEST_LINEAR:
        return [tick for tick in nice_ticks(low, high) if tick > 0]
    first, last = math.floor(math.log2(low)), math.ceil(math.log2(high))
    step = max(1, math.ceil((last - first) / 7))
    below = [-number for number in range(0, -first + step, step)]
    return [2.0**power for power in sorted({*below, *range(0, last + step, step)})]


def tick_texts(ticks: Sequence[float]) -> list[str]:
    """As many decimals as tell them apart."""
    decimals = next((n for n in range(7) if all(_is_round(tick, n) for tick in ticks)), 7)
    return [f"{tick:,.{decimals}f}".replace(",", "\u202f").replace("-", "\u2212") for tick in ticks]


def _is_round(value: float, decimals: int) -> bool:
    return abs(round(value, decimals) - value) <= 1e-9 * max(1.0, abs(value))
