"""Charts by what is in them: marks, intervals, hatches and words."""

import re

import pytest

from modeldyno.present.charts.bars import Bar, bar_chart
from modeldyno.present.charts.frame import Scale, cut_to_length, nice_ticks, ratio_ticks, tick_texts
from modeldyno.present.charts.ratios import Ratio, ratio_chart
from modeldyno.present.charts.scaling import Point, Series, Words, scaling_chart

WORDS = Words("Core scaling.", "Two cores help.", "cores", "ms per item")
EVIL = '<img src=x onerror="alert(1)">&'


def points(*values: float, noisy: int = -1) -> tuple[Point, ...]:
    return tuple(
        Point(2.0**n, value, value * 0.9, value * 1.1, n == noisy) for n, value in enumerate(values)
    )


def count(drawn: str, kind: str) -> int:
    return len(re.findall(rf'class="{kind}[" ]', drawn))


def test_axes_have_round_numbers_and_begin_at_zero_where_they_must():
    assert nice_ticks(0, 9.3) == [0, 2, 4, 6, 8, 10]
    assert tick_texts(nice_ticks(0, 0.0093)) == [
        "0.000",
        "0.002",
        "0.004",
        "0.006",
        "0.008",
        "0.010",
    ]
    assert tick_texts([0, 1000, 2000]) == ["0", "1\u202f000", "2\u202f000"]
    assert nice_ticks(0, 0) == pytest.approx([0, 0.2, 0.4, 0.6, 0.8, 1])


@pytest.mark.parametrize("span", [(0.97, 0.99), (1.2, 1.3), (0.05, 0.2), (3.0, 40.0)])
def test_an_axis_of_ratios_has_one_on_it_and_all_that_is_shown(span):
    ticks = ratio_ticks(*span)
    assert 1.0 in [round(tick, 9) for tick in ticks]
    assert ticks[0] <= span[0]
    assert ticks[-1] >= span[1]


def test_twice_is_as_far_as_half_on_an_axis_of_ratios():
    axis = Scale(0.25, 4, 0, 100, "log")
    assert [axis.place(x) for x in (0.25, 0.5, 1, 2, 4)] == [0, 25, 50, 75, 100]


def test_every_point_has_its_interval_and_what_is_noisy_is_hatched():
    drawn = scaling_chart(WORDS, [Series("a", points(4, 2, 1, noisy=1)), Series("b", points(5, 3))])
    marks = re.findall(r'class="mark hue(\d) (noisy|sure)"', drawn)
    assert marks.count(("0", "noisy")) == 1
    assert marks.count(("0", "sure")) == 3  # two of them, and the legend
    assert count(drawn, "interval") == 3 * 5
    assert ">ms per item<" in drawn
    assert re.findall(r'class="end">([^<]*)<', drawn)[0] == "0"
    assert 'aria-label="Core scaling. Two cores help."' in drawn


def test_the_ideal_line_is_drawn_where_it_makes_sense():
    series = [Series("a", points(4, 2))]
    assert 'class="ideal hue0"' in scaling_chart(WORDS, series, has_ideal=True)
    assert "ideal" not in scaling_chart(WORDS, series)


def test_more_curves_than_eyes_tell_apart_are_left_to_the_table():
    drawn = scaling_chart(WORDS, [Series(f"s{n}", points(4, 2)) for n in range(11)])
    assert "3 more in the table" in drawn
    assert "hue8" not in drawn


def test_ratios_have_their_margin_and_keep_their_order():
    rows = [Ratio("late", 1.3, 1.2, 1.4, 0.02), Ratio("early", 0.9, 0.8, 1.1, 0.05, is_noisy=True)]
    drawn = ratio_chart("Comparisons.", "Two.", rows)
    assert drawn.index(">late<") < drawn.index(">early<")
    assert (count(drawn, "band"), count(drawn, "one")) == (2, 1)
    assert re.findall(r'class="mark hue0 (\w+)"', drawn) == ["sure", "noisy"]
    assert "<title>early: 0.900 (0.800 to 1.100)</title>" in drawn


def test_bars_are_as_long_as_their_values():
    drawn = bar_chart("Top.", "Conv.", [Bar("Conv", 3.0, "3 ms"), Bar("rest", 1.0, "1 ms", True)])
    widths = [float(width) for width in re.findall(r'<rect[^>]* width="([\d.]+)"', drawn)]
    assert widths[0] == pytest.approx(3 * widths[1], rel=1e-3)
    assert 'class="bar rest"' in drawn
    assert "whisker" not in drawn
    assert bar_chart("Top.", "", [Bar("a", 3, "3", span=(2, 4))]).count('"whisker"') == 3


def test_names_of_strangers_are_text_in_every_chart():
    charts = (
        scaling_chart(WORDS, [Series(EVIL, points(4, 2))]),
        ratio_chart(EVIL, EVIL, [Ratio(EVIL, 1.0, 0.9, 1.1, 0.02)]),
        bar_chart("Top.", EVIL, [Bar(EVIL, 1.0, EVIL)]),
    )
    for drawn in charts:
        assert "<img" not in drawn
        assert 'onerror="' not in drawn
        assert "&lt;img" in drawn


def test_long_names_keep_both_ends():
    assert (
        cut_to_length("resnet50-v1-quantized-static-per-channel.onnx", 20) == "resnet50-…annel.onnx"
    )
    assert cut_to_length("short", 20) == "short"
