"""How the live self-test of repeats judges six runs, made up here."""

from dataclasses import replace
from math import exp

import numpy as np
import pytest

from modeldyno.core.results import Estimate, Repeat
from modeldyno.measure.repeats import repeat_of
from modeldyno.selftest.repeat_live import has_passed, judge


def runs(spread, half=0.008):
    """Six runs, each known to ``half`` by its own sessions, with the interval that ships."""
    levels = np.exp(spread * np.array([-1.2, 0.9, -0.4, 1.3, 0.1, -0.7]))
    figures = [Estimate(v, v * exp(-half), v * exp(half), 0.95, 14, "sessions") for v in levels]
    return [
        replace(figure, repeat=repeat_of(figure, figures[:n][::-1]))
        for n, figure in enumerate(figures)
    ]


def scaled(figures, factor):
    return [
        replace(
            figure,
            repeat=Repeat(
                figure.value - factor * figure.repeat.half_width,
                figure.value + factor * figure.repeat.half_width,
                0.95,
                figure.repeat.runs,
            ),
        )
        for figure in figures
    ]


def test_runs_that_differ_pass_and_their_control_fails():
    level = judge(runs(spread=0.025))
    assert has_passed(level)
    assert level["is_control_judged"]
    assert level["control_pairs_apart"] >= 2


@pytest.mark.parametrize("factor", [0.1, 5.0])
def test_intervals_that_are_too_narrow_or_too_wide_fail(factor):
    assert not has_passed(judge(scaled(runs(spread=0.025), factor)))


def test_a_control_that_holds_fails_where_the_runs_differ():
    figures = [replace(figure, low=0.5, high=2.0) for figure in runs(spread=0.025)]
    assert not has_passed(judge(figures) | {"is_control_judged": True})


def test_runs_that_do_not_differ_leave_the_control_unjudged():
    level = judge(runs(spread=0.001))
    assert has_passed(level)
    assert not level["is_control_judged"]


def test_a_run_that_expects_nothing_of_a_repeat_is_an_error():
    figures = [*runs(spread=0.01)[:5], replace(runs(spread=0.01)[5], repeat=None)]
    with pytest.raises(RuntimeError, match="too few sessions"):
        judge(figures)
