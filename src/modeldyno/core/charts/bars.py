"""Lying bars, the longest first: where the time goes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from modeldyno.core.charts.axes import Axis
from modeldyno.core.charts.frame import WIDTH, cut, label, line, picture
from modeldyno.core.markup import Markup, tag

_LEFT, _RIGHT = 190.0, WIDTH - 130.0
_TOP, _ROW = 6.0, 24.0


@dataclass(frozen=True)
class Bar:
    name: str
    value: float
    text: str  # beside it
    is_rest: bool = False  # what is left over, not one of them


def bar_chart(title: str, summary: str, bars: Sequence[Bar]) -> Markup:
    longest = max((bar.value for bar in bars), default=0.0)
    across = Axis(0.0, longest or 1.0, _LEFT, _RIGHT)
    bottom = _TOP + len(bars) * _ROW
    drawn = [_bar(bar, place, across) for place, bar in enumerate(bars)]
    return picture(bottom + 6, title, summary, *drawn, line(_LEFT, _TOP, _LEFT, bottom, "axis"))


def _bar(bar: Bar, place: int, across: Axis) -> Markup:
    y = _TOP + place * _ROW
    end = across.place(max(0.0, bar.value))
    kind = "bar rest" if bar.is_rest else "bar hue0"
    return tag(
        "g",
        tag("title", f"{bar.name}: {bar.text}"),
        label(_LEFT - 10, y + 16, cut(bar.name, 26), "end"),
        tag("rect", x=_LEFT, y=y + 4, width=end - _LEFT, height=_ROW - 8, class_=kind),
        label(end + 6, y + 16, bar.text),
    )
