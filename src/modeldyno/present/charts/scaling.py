"""How time changes with cores or with the batch: points with their intervals, from zero up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from modeldyno.present.charts.frame import (
    WIDTH,
    Scale,
    cut_to_length,
    label,
    line,
    nice_ticks,
    svg_picture,
    tick_texts,
)
from modeldyno.present.markup import Markup, joined, tag

MOST_SERIES = 8  # hues that eyes tell apart
_TOP, _LEFT, _RIGHT, _HEIGHT = 16.0, 64.0, WIDTH - 20.0, 230.0
_ROW = 18.0  # of the legend
_APART = 5.0  # series with the same number below


@dataclass(frozen=True)
class Point:
    x: float
    value: float
    low: float
    high: float
    is_noisy: bool = False
    label: str = ""


@dataclass(frozen=True)
class Series:
    name: str
    points: tuple[Point, ...]  # by x


@dataclass(frozen=True)
class Words:
    title: str
    summary: str
    x: str
    y: str


def scaling_chart(words: Words, series: Sequence[Series], has_ideal: bool = False) -> Markup:
    """``has_ideal`` draws what n times the cores would do at best, dashed, from the first point."""
    drawn_series = series[:MOST_SERIES]
    points = [point for curve in drawn_series for point in curve.points]
    numbers = sorted({point.x for point in points})
    ticks = nice_ticks(0.0, max(point.high for point in points))
    bottom = _TOP + _HEIGHT
    across = Scale(numbers[0], numbers[-1], _LEFT + 24, _RIGHT - 24, "log")
    up = Scale(ticks[0], ticks[-1], bottom, _TOP)
    drawn = [
        _draw_grid(up, ticks),
        _draw_foot(across, numbers, bottom),
        _draw_titles(words, bottom),
    ]
    for number, curve in enumerate(drawn_series):
        if has_ideal and len(curve.points) > 1:
            drawn.append(_draw_ideal(curve, across, up, number))
        # Beside each other, so that intervals do not hide one another.
        aside = (number - (len(drawn_series) - 1) / 2) * _APART
        drawn.append(_draw_curve(curve, across, up, number, aside))
    legend = _draw_legend(drawn_series, len(series) - len(drawn_series), has_ideal, bottom + 52)
    rows = len(drawn_series) + has_ideal + (len(series) > len(drawn_series))
    return svg_picture(bottom + 46 + rows * _ROW, words.title, words.summary, *drawn, legend)


def _draw_grid(up: Scale, ticks: Sequence[float]) -> Markup:
    lines = [line(_LEFT, up.place(tick), _RIGHT, up.place(tick), "grid") for tick in ticks]
    texts = [
        label(_LEFT - 8, up.place(tick) + 4, words, "end")
        for tick, words in zip(ticks, tick_texts(ticks), strict=True)
    ]
    return joined(*lines, *texts)


def _draw_foot(across: Scale, numbers: Sequence[float], bottom: float) -> Markup:
    return joined(
        line(_LEFT, bottom, _RIGHT, bottom, "axis"),
        *(label(across.place(x), bottom + 16, f"{x:g}", "middle") for x in numbers),
    )


def _draw_titles(words: Words, bottom: float) -> Markup:
    return joined(
        label(_LEFT, _TOP - 6, words.y, "dim end-of-axis"),
        label((_LEFT + _RIGHT) / 2, bottom + 34, words.x, "middle dim"),
    )


def _draw_ideal(curve: Series, across: Scale, up: Scale, number: int) -> Markup:
    first = curve.points[0]
    steps = 16
    ratio = curve.points[-1].x / first.x
    xs = [first.x * ratio ** (step / steps) for step in range(steps + 1)]
    places = [f"{across.place(x):.1f},{up.place(first.value * first.x / x):.1f}" for x in xs]
    return tag("polyline", points=" ".join(places), class_=f"ideal hue{number}")


def _draw_curve(curve: Series, across: Scale, up: Scale, number: int, aside: float) -> Markup:
    places = [(across.place(point.x) + aside, up.place(point.value)) for point in curve.points]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    drawn = [tag("polyline", points=path, class_=f"curve hue{number} dash{number % 4}")]
    for point, (x, y) in zip(curve.points, places, strict=True):
        drawn.append(_draw_interval(x, up.place(point.low), up.place(point.high), number))
        drawn.append(marker(x, y, number, point.is_noisy))
        if point.label:
            drawn.append(label(x + 9, y - 9, point.label, "small"))
    return tag("g", *drawn)


def _draw_interval(x: float, low: float, high: float, number: int) -> Markup:
    kind = f"interval hue{number}"
    return joined(
        line(x, low, x, high, kind),
        line(x - 4, low, x + 4, low, kind),
        line(x - 4, high, x + 4, high, kind),
    )


def marker(x: float, y: float, number: int, is_noisy: bool) -> Markup:
    """Series differ by shape as well; what is noisy is hatched."""
    kind = f"mark hue{number} {'noisy' if is_noisy else 'sure'}"
    shapes = (
        None,
        ((-4.5, -4.5), (4.5, -4.5), (4.5, 4.5), (-4.5, 4.5)),
        ((0, -6), (5.5, 4.5), (-5.5, 4.5)),
        ((0, -6), (6, 0), (0, 6), (-6, 0)),
    )
    corners = shapes[number % len(shapes)]
    if corners is None:
        return tag("circle", cx=x, cy=y, r=5, class_=kind)
    places = " ".join(f"{x + dx:.1f},{y + dy:.1f}" for dx, dy in corners)
    return tag("polygon", points=places, class_=kind)


def _draw_legend(series: Sequence[Series], more: int, has_ideal: bool, top: float) -> Markup:
    rows = []
    for number, curve in enumerate(series):
        y = top + number * _ROW
        rows.append(line(_LEFT, y, _LEFT + 26, y, f"curve hue{number} dash{number % 4}"))
        rows.append(marker(_LEFT + 13, y, number, is_noisy=False))
        rows.append(label(_LEFT + 34, y + 4, cut_to_length(curve.name, 76)))
    y = top + len(series) * _ROW
    if has_ideal:
        rows.append(line(_LEFT, y, _LEFT + 26, y, "ideal"))
        rows.append(label(_LEFT + 34, y + 4, "ideal: twice the cores, half the time", "dim"))
        y += _ROW
    if more:
        rows.append(label(_LEFT, y + 4, f"{more} more in the table", "dim"))
    return joined(*rows)
