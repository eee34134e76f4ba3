"""Ratios with their intervals around 1; where a difference does not matter, it is shaded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from modeldyno.present.charts.frame import (
    WIDTH,
    Scale,
    cut_to_length,
    label,
    line,
    ratio_ticks,
    svg_picture,
    tick_texts,
)
from modeldyno.present.charts.scaling import marker
from modeldyno.present.markup import Markup, joined, tag

_LEFT, _RIGHT = 190.0, WIDTH - 24.0
_TOP, _ROW = 24.0, 30.0


@dataclass(frozen=True)
class Ratio:
    name: str
    value: float
    low: float
    high: float
    margin: float
    is_noisy: bool = False


def ratio_chart(title: str, summary: str, rows: Sequence[Ratio]) -> Markup:
    """One row for each, in the order given: those that overlap are not ranked."""
    low = min(min(row.low, 1 - row.margin) for row in rows)
    high = max(max(row.high, 1 + row.margin) for row in rows)
    ticks = ratio_ticks(max(low, 1e-3), high)
    across = Scale(ticks[0], ticks[-1], _LEFT, _RIGHT, "log")
    bottom = _TOP + len(rows) * _ROW
    drawn = [_draw_band(row, place, across) for place, row in enumerate(rows)]
    drawn += [_draw_foot(across, ticks, bottom)]
    drawn += [_draw_row(row, place, across) for place, row in enumerate(rows)]
    return svg_picture(bottom + 44, title, summary, *drawn)


def _draw_band(row: Ratio, place: int, across: Scale) -> Markup:
    """The margin of each row is its own."""
    x = across.place(1 - row.margin)
    width = across.place(1 + row.margin) - x
    return tag("rect", x=x, y=_TOP + place * _ROW, width=width, height=_ROW, class_="band")


def _draw_foot(across: Scale, ticks: Sequence[float], bottom: float) -> Markup:
    texts = [
        label(across.place(tick), bottom + 16, words, "middle")
        for tick, words in zip(ticks, tick_texts(ticks), strict=True)
    ]
    middle = (_LEFT + _RIGHT) / 2
    return joined(
        *(line(across.place(tick), _TOP, across.place(tick), bottom, "grid") for tick in ticks),
        line(_LEFT, bottom, _RIGHT, bottom, "axis"),
        line(across.place(1.0), _TOP - 6, across.place(1.0), bottom + 4, "one"),
        *texts,
        label(across.place(1.0) - 8, _TOP - 10, "B faster", "end dim small"),
        label(across.place(1.0) + 8, _TOP - 10, "B slower", "dim small"),
        label(middle, bottom + 34, "time of B / time of A", "middle dim"),
    )


def _draw_row(row: Ratio, place: int, across: Scale) -> Markup:
    y = _TOP + (place + 0.5) * _ROW
    low, high = across.place(max(row.low, across.low)), across.place(row.high)
    return tag(
        "g",
        tag("title", f"{row.name}: {row.value:.3f} ({row.low:.3f} to {row.high:.3f})"),
        label(_LEFT - 12, y + 4, cut_to_length(row.name, 26), "end"),
        line(low, y, high, y, "interval hue0"),
        line(low, y - 5, low, y + 5, "interval hue0"),
        line(high, y - 5, high, y + 5, "interval hue0"),
        marker(across.place(max(row.value, across.low)), y, 0, row.is_noisy),
    )
