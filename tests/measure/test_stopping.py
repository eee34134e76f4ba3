"""When a run may stop."""

from dataclasses import replace

import numpy as np
import pytest

from modeldyno.core.specs import DEFAULT, QUICK
from modeldyno.measure.stopping import (
    LOOKS,
    choose_stop_reason,
    has_stopped_narrowing,
    look_level,
    published_level,
)


def sessions(count, sd, seed=1):
    noise = np.random.default_rng(seed).normal(size=count)
    noise = (noise - noise.mean()) / noise.std(ddof=1)
    return np.exp(sd * noise).tolist()


def test_a_calm_machine_stops_at_the_least_number_of_sessions():
    assert choose_stop_reason(sessions(7, 0.001), sessions(7, 0.001), DEFAULT, 1.0) is None
    assert choose_stop_reason(sessions(8, 0.001), sessions(8, 0.001), DEFAULT, 1.0) == "precise"


def test_both_floor_and_typical_must_be_precise():
    calm, wild = sessions(8, 0.001), sessions(8, 0.05)
    assert choose_stop_reason(calm, wild, DEFAULT, 1.0) is None
    assert choose_stop_reason(wild, calm, DEFAULT, 1.0) is None


def test_the_width_rule_asks_for_97_percent():
    # 8 sessions: t = 2.715 at 97 % and 2.365 at 95 %; half-width = t × sd / √8.
    between = 0.01 / 2.5 * 8**0.5
    assert choose_stop_reason(sessions(8, between), sessions(8, 0.001), DEFAULT, 1.0) is None
    assert (
        choose_stop_reason(sessions(8, between * 0.9), sessions(8, 0.001), DEFAULT, 1.0)
        == "precise"
    )


def test_the_budget_ends_a_run_however_few_its_sessions():
    assert choose_stop_reason([1.0], [1.0], DEFAULT, 10.0) == "budget"
    assert choose_stop_reason([], [], DEFAULT, 11.0) == "budget"


def test_precise_is_reported_even_when_the_time_is_up():
    assert choose_stop_reason(sessions(8, 0.001), sessions(8, 0.001), DEFAULT, 10.0) == "precise"


def test_a_quick_run_only_stops_by_its_budget():
    values = sessions(20, 0.0001)
    assert choose_stop_reason(values, values, QUICK, 1.9) is None
    assert choose_stop_reason(values, values, QUICK, 2.0) == "budget"


def test_an_interval_that_no_longer_narrows_stops_the_run_as_flat():
    worse = sessions(8, 0.02) + sessions(8, 0.10, seed=2)
    assert choose_stop_reason(worse, worse, DEFAULT, 5.0) == "flat"


def test_flat_is_not_reported_before_16_sessions():
    worse = sessions(7, 0.02) + sessions(8, 0.10, seed=2)
    assert choose_stop_reason(worse, worse, DEFAULT, 5.0) is None


def test_an_interval_that_narrows_as_it_should_is_not_flat():
    half = sessions(8, 0.05)
    assert not has_stopped_narrowing(half + half)


def test_a_flat_typical_alone_does_not_stop_while_the_floor_improves():
    half = sessions(8, 0.05)
    worse = sessions(8, 0.02) + sessions(8, 0.10, seed=2)
    assert choose_stop_reason(half + half, worse, DEFAULT, 5.0) is None


def test_a_flat_typical_stops_once_the_floor_is_precise():
    worse = sessions(8, 0.02) + sessions(8, 0.10, seed=2)
    assert choose_stop_reason(sessions(16, 0.001), worse, DEFAULT, 5.0) == "flat"


def test_a_figure_without_a_wish_is_not_waited_for():
    only_floor = replace(DEFAULT, typical_half_width=None)
    assert choose_stop_reason(sessions(8, 0.001), sessions(8, 0.5), only_floor, 1.0) == "precise"


@pytest.mark.parametrize(
    ("reason", "level"),
    [("precise", 0.97), ("flat", 0.97), ("budget", 0.95), ("fixed", 0.95), ("aborted", 0.95)],
)
def test_a_moment_chosen_by_the_data_is_paid_for_with_a_higher_level(reason, level):
    assert published_level(reason) == level


def test_an_adaptive_comparison_looks_three_times():
    assert [n for n in range(100) if look_level(n)] == list(LOOKS) == [8, 16, 32]
    assert look_level(8) == pytest.approx(1 - 0.022)


def test_a_session_that_would_not_fit_the_budget_is_not_begun():
    assert choose_stop_reason([1.0], [1.0], DEFAULT, 6.0, session_s=3.0) is None
    assert choose_stop_reason([1.0], [1.0], DEFAULT, 7.5, session_s=3.0) == "budget"
    calm = sessions(8, 0.001)
    assert choose_stop_reason(calm, calm, DEFAULT, 9.0, session_s=3.0) == "precise"
