"""The interval to expect in a repeat: random effects over runs."""

from math import log, sqrt

import pytest
from scipy import stats

from modeldyno.measure.repeats import MOST_RUNS, repeat_of
from modeldyno.measure.statistics import log_t

SESSIONS = (1.00, 1.01, 0.99, 1.02, 0.98)


def run_at(level, sessions=SESSIONS):
    return log_t([level * session for session in sessions], 0.95, "sessions")


def expected_repeat(figure, earlier):
    repeat = repeat_of(figure, earlier)
    assert repeat is not None
    return repeat


def half_width(repeat, figure):
    assert log(repeat.high / figure.value) == pytest.approx(log(figure.value / repeat.low))
    return log(repeat.high / figure.value)


def spread(sessions=SESSIONS):
    logs = [log(session) for session in sessions]
    return stats.tstd(logs)


def test_a_first_run_expects_runs_to_differ_as_sessions_do():
    figure = run_at(1.0)
    repeat = expected_repeat(figure, [])
    expected = stats.t.ppf(0.975, 2) * sqrt(spread() ** 2 / len(SESSIONS) + spread() ** 2)
    assert (repeat.level, repeat.runs) == (0.95, 0)
    assert half_width(repeat, figure) == pytest.approx(expected)


def test_later_runs_know_how_far_earlier_ones_lay_apart():
    levels = (1.0, 1.06, 0.96, 1.02)
    figure, *earlier = map(run_at, levels)
    within = spread() ** 2
    between = stats.tvar([log(level) for level in levels]) - within / len(SESSIONS)
    drift = (2 * within + 3 * between) / 5
    expected = stats.t.ppf(0.975, 5) * sqrt(within / len(SESSIONS) + drift)
    repeat = expected_repeat(figure, earlier)
    assert repeat.runs == 3
    assert half_width(repeat, figure) == pytest.approx(expected)


def test_runs_that_agree_narrow_the_interval():
    figure = run_at(1.0)
    widths = [half_width(expected_repeat(figure, [figure] * count), figure) for count in range(6)]
    assert widths == sorted(widths, reverse=True)
    assert widths[0] > 2 * widths[-1]


def test_only_the_latest_runs_count():
    figure, outlier = run_at(1.0), run_at(3.0)
    earlier = [run_at(1.0)] * MOST_RUNS
    assert repeat_of(figure, [*earlier, outlier]) == repeat_of(figure, earlier)


def test_too_few_sessions_promise_nothing_and_count_for_nothing():
    figure, short = run_at(1.0), run_at(1.5, SESSIONS[:3])
    assert repeat_of(short, [figure]) is None
    assert repeat_of(figure, [short]) == repeat_of(figure, [])
