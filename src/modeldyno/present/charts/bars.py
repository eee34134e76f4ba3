"""Lying bars, the longest first: where the time goes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from modeldyno.present.charts.frame import WIDTH, Scale, cut_to_length, label, line, svg_picture
from modeldyno.present.markup import Markup, joined, tag

_LEFT, _RIGHT = 190.0, WIDTH - 165.0
_TOP, _ROW = 6.0, 24.0


@dataclass(frozen=True)
class Bar:
    name: str
    value: float
    text: str  # beside it
    is_rest: bool = False  # what is left over, not one of them
    span: tuple[float, float] | None = None  # its interval, where it is known


def bar_chart(title: str, summary: str, bars: Sequence[Bar]) -> Markup:
    longest = max((_bar_end(bar) for bar in bars), default=0.0)
    across = Scale(0.0, longest or 1.0, _LEFT, _RIGHT)
    bottom = _TOP + len(bars) * _ROW
    drawn = [_draw_bar(bar, place, across) for place, bar in enumerate(bars)]
    return svg_picture(bottom + 6, title, summary, *drawn, line(_LEFT, _TOP, _LEFT, bottom, "axis"))


def _bar_end(bar: Bar) -> float:
    return max(bar.value, bar.span[1]) if bar.span else bar.value


def _draw_bar(bar: Bar, place: int, across: Scale) -> Markup:
    y = _TOP + place * _ROW
    end = across.place(max(0.0, bar.value))
    kind = "bar rest" if bar.is_rest else "bar hue0"
    return tag(
        "g",
        tag("title", f"{bar.name}: {bar.text}"),
        label(_LEFT - 10, y + 16, cut_to_length(bar.name, 26), "end"),
        tag("rect", x=_LEFT, y=y + 4, width=end - _LEFT, height=_ROW - 8, class_=kind),
        _draw_whisker(bar, y + _ROW / 2, across),
        label(across.place(max(0.0, _bar_end(bar))) + 8, y + 16, bar.text),
    )


def _draw_whisker(bar: Bar, y: float, across: Scale) -> Markup:
    if bar.span is None:
        return Markup()
    low, high = (across.place(max(0.0, value)) for value in bar.span)
    return joined(
        line(low, y, high, y, "whisker"),
        *(line(x, y - 4, x, y + 4, "whisker") for x in (low, high)),
    )
