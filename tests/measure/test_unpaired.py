"""Ratios of numbers that were measured apart."""

import math
import random

import pytest

from modeldyno.measure.statistics import log_t
from modeldyno.measure.verdicts import unpaired_ratio


def sessions(chance, around, count, spread=0.02):
    return [around * math.exp(chance.gauss(0, spread)) for _ in range(count)]


def test_the_interval_is_welchs_over_logarithms_of_sessions():
    stats = pytest.importorskip("scipy.stats")
    chance = random.Random(1)
    a, b = sessions(chance, 2.0, 6), sessions(chance, 1.0, 12, spread=0.1)
    ratio = unpaired_ratio(log_t(a, 0.95, "sessions"), log_t(b, 0.97, "sessions"))
    logs = [[math.log(value) for value in side] for side in (b, a)]
    oracle = stats.ttest_ind(*logs, equal_var=False).confidence_interval(0.95)
    assert (math.log(ratio.low), math.log(ratio.high)) == pytest.approx(tuple(oracle))


def test_two_runs_of_the_same_model_differ_about_one_time_in_twenty():
    chance = random.Random(2)
    wrong = 0
    for _ in range(1000):
        a, b = (log_t(sessions(chance, 1.0, 8), 0.95, "sessions") for _ in "ab")
        ratio = unpaired_ratio(a, b)
        wrong += not ratio.low <= 1 <= ratio.high
    assert 25 <= wrong <= 75


def test_a_ratio_is_per_item():
    a, b = (log_t([1.0, 1.1, 0.9, 1.0], 0.95, "sessions") for _ in "ab")
    assert unpaired_ratio(a, b, (1, 4)).value == pytest.approx(0.25)


def test_seen_from_the_other_side_it_is_the_inverse():
    a, b = log_t([1.0, 1.1, 1.2, 1.0], 0.95, "sessions"), log_t([2.0, 2.1, 2.2], 0.95, "sessions")
    there, back = unpaired_ratio(a, b), unpaired_ratio(b, a)
    assert vars(back.inverse) == pytest.approx(vars(there))


def test_sessions_that_agree_to_the_last_digit_have_an_interval_of_no_width():
    a, b = (log_t([x] * 4, 0.95, "sessions") for x in (1.0, 2.0))
    ratio = unpaired_ratio(a, b)
    assert (ratio.low, ratio.value, ratio.high) == pytest.approx((2.0, 2.0, 2.0))
