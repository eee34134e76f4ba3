"""The self-tests without a stopwatch, short enough for every commit.

Each carries its negative control, and ``passed`` includes that the control failed as it should.
"""

import json
from dataclasses import replace
from math import exp, log

import pytest
from scipy import stats

from modeldyno.measure.repeats import repeat_of
from modeldyno.selftest import coverage, repeat, sample_length, stopping, tails, warmup
from modeldyno.selftest.controls import welch_interval
from modeldyno.selftest.outcome import Outcome


def test_t4_intervals_cover_as_often_as_they_say():
    outcome = coverage.run(traces=300)
    assert outcome.passed, outcome.to_json()
    assert outcome.control["coverage_welch_on_iterations"] <= 0.5


def test_t5_tail_intervals_know_about_bursts():
    outcome = tails.run(traces=300)
    assert outcome.passed, outcome.to_json()
    assert outcome.control["coverage_as_if_independent"] <= 0.75


def test_t9_samples_are_short_and_the_stopwatch_is_cheap():
    outcome = sample_length.run()
    assert outcome.passed, outcome.to_json()
    assert outcome.control["too_long_us_at_10_ms"] == [5, 10, 50, 500]
    assert outcome.control["overhead_of_single_5_us_calls"] > 0.01


@pytest.mark.usefixtures("light_heap")
def test_t11_warm_up_is_excluded_and_trends_are_named():
    outcome = warmup.run()
    assert outcome.passed, outcome.to_json()
    assert outcome.control["bias_without_warmup"] > 1
    assert outcome.control["falling_is_steady"] is False
    assert outcome.control["shuffled_step_is_trend"] is False


def test_t13_stopping_keeps_what_the_interval_promises():
    outcome = stopping.run(runs=2000)
    assert outcome.passed, outcome.to_json()
    assert outcome.control["peeking_rejects"] >= 0.15
    assert outcome.control["hasty_coverage_typical"] < 0.94


def test_t18_later_runs_land_where_earlier_ones_said():
    outcome = repeat.run()
    assert outcome.passed, outcome.to_json()
    assert outcome.control["coverage"] <= 0.45


@pytest.mark.parametrize("factor", [0.3, 2.0])
def test_t18_fails_for_intervals_that_are_too_narrow_or_too_wide(factor):
    assert not repeat.run(machines=100, expect=scaled_repeat(factor)).passed


def scaled_repeat(factor):
    def scaled(figure, earlier):
        expected = repeat_of(figure, earlier)
        assert expected is not None
        half = log(expected.high / figure.value) * factor
        low, high = (figure.value * exp(sign * half) for sign in (-1, 1))
        return replace(expected, low=low, high=high)

    return scaled


def test_the_same_seed_gives_the_same_outcome():
    first, second = (tails.run(traces=20, seed=1) for _ in range(2))
    assert (first.observed, first.control) == (second.observed, second.control)


def test_an_outcome_is_one_line_of_json():
    outcome = Outcome(
        True, {"a": 0.95}, {"a": 0.93}, {"b": 0.2}, 4, id="T4", name="coverage", seconds=1.23456
    )
    line = outcome.to_json()
    assert "\n" not in line
    assert json.loads(line) == {
        "id": "T4",
        "name": "coverage",
        "pass": True,
        "observed": {"a": 0.95},
        "threshold": {"a": 0.93},
        "control": {"b": 0.2},
        "seed": 4,
        "seconds": 1.235,
        "retried": False,
        "notes": [],
    }


@pytest.mark.parametrize("module", [coverage, sample_length, stopping, tails, warmup])
def test_every_self_test_says_what_it_does(module):
    assert module.__doc__.startswith("T")


def test_the_control_is_the_welch_test_everybody_uses():
    a, b = [1.0, 1.2, 0.9, 1.1], [1.4, 1.9, 1.1, 1.3, 1.5]
    theirs = stats.ttest_ind(b, a, equal_var=False).confidence_interval(0.95)
    ours, others = ((float(stats.tmean(x)), float(stats.tvar(x)), len(x)) for x in (a, b))
    assert welch_interval(ours, others, 0.95) == pytest.approx((theirs.low, theirs.high))
