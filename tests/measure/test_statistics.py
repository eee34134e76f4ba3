"""Medians, intervals, tails and trends."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from modeldyno.core.results import Estimate, Tail
from modeldyno.measure import statistics, tails
from modeldyno.measure.statistics import (
    exp_estimate,
    log_ratio,
    log_ratio_by_rounds,
    log_t,
    mean_t,
)
from modeldyno.measure.tails import fewest_samples, integrated_time, quantile_interval
from modeldyno.measure.trend import has_level_moved, moved_across, moved_within


def steady_sessions(count, samples=600, seed=1, placement=0.008):
    rng = np.random.default_rng(seed)
    return [rng.lognormal(rng.normal(0, placement), 0.02, samples) for _ in range(count)]


# ---------------------------------------------------------------- one session


def test_samples_become_seconds_per_call():
    seconds = statistics.seconds_per_call((50_000, 100_000), calls_per_sample=10)
    assert seconds.tolist() == pytest.approx([5e-6, 10e-6])


def test_floor_work_and_typical_are_the_tenth_quartile_and_median():
    samples = np.arange(101.0)
    quantiles = (
        statistics.floor(samples),
        statistics.lower_quartile(samples),
        statistics.typical(samples),
    )
    assert quantiles == (10.0, 25.0, 50.0)


def test_a_preemption_moves_the_mean_but_not_the_floor():
    calm = np.linspace(1.0, 1.1, 200)
    disturbed = np.where(np.arange(200) % 20 == 0, 50.0, calm)
    assert abs(log_ratio(calm, disturbed)) < 0.01 < math.log(disturbed.mean() / calm.mean())


def test_outliers_are_counted_not_removed():
    assert statistics.outliers(np.array([1.0, 1.0, 1.5, 9.0]), 1.0) == (0.25, 9.0)


# ---------------------------------------------------------------- over sessions


@given(st.lists(st.floats(-10, 10), min_size=2, max_size=40), st.sampled_from([0.9, 0.95, 0.97]))
def test_the_mean_and_its_interval_agree_with_scipy(values, level):
    ours = mean_t(values, level, "pairs")
    error = stats.sem(values)
    low, high = (
        stats.t.interval(level, len(values) - 1, np.mean(values), error)
        if error > 0
        else (np.mean(values),) * 2
    )
    assert (ours.value, ours.low, ours.high) == pytest.approx(
        (np.mean(values), low, high), abs=1e-9
    )


def test_one_session_has_no_interval():
    with pytest.raises(ValueError, match="at least 2 sessions, not 1"):
        mean_t([1.0], 0.95, "sessions")


def test_the_geometric_mean_of_reciprocals_is_one():
    estimate = log_t([0.5, 2.0], 0.95, "sessions")
    assert estimate.value == pytest.approx(1.0)
    assert estimate.low * estimate.high == pytest.approx(1.0)


def test_a_time_of_zero_is_refused():
    with pytest.raises(ValueError, match="above zero"):
        log_t([0.0, 1.0], 0.95, "sessions")


def test_log_ratios_become_a_ratio_with_the_same_pairs():
    logs = Estimate(math.log(1.02), math.log(1.01), math.log(1.03), 0.95, 12, "pairs")
    ratio = exp_estimate(logs)
    assert (ratio.value, ratio.low, ratio.high) == pytest.approx((1.02, 1.01, 1.03))
    assert (ratio.level, ratio.n, ratio.units) == (0.95, 12, "pairs")


def test_equal_sessions_have_an_interval_of_no_width():
    assert mean_t([3.0] * 5, 0.95, "sessions").half_width == 0


# ---------------------------------------------------------------- tails


def test_the_fewest_samples_are_those_of_the_table():
    assert [fewest_samples(q, 0.95) for q in (0.5, 0.9, 0.95, 0.99, 0.999)] == [
        6,
        36,
        72,
        368,
        3688,
    ]


def test_independent_order_statistics_are_the_exact_binomial_ones():
    samples = np.arange(1.0, 1001.0)
    value, low, high = tails.order_statistics(samples, 0.9, 0.95, effective=1000)
    # The largest and smallest rank that miss the quantile in at most 2.5 % each.
    ranks = np.arange(1, 1001)
    assert value == 900
    assert low == ranks[stats.binom.cdf(ranks - 1, 1000, 0.9) <= 0.025].max()
    assert high == ranks[stats.binom.sf(ranks - 1, 1000, 0.9) <= 0.025].min()


def test_too_few_samples_say_how_many_are_needed():
    samples = np.tile([1.0, 2.0], 100)  # alternating: no positive correlation, τ = 1
    assert quantile_interval([samples], 0.99) == Tail(0.99, None, None, None, 368)


def test_p90_appears_with_the_36th_independent_sample():
    samples = np.arange(36.0)
    samples[[5, 17, 29]], samples[[33, 34, 35]] = [33, 34, 35], [5, 17, 29]  # slow ones far apart
    assert quantile_interval([samples], 0.9).value == 32
    assert quantile_interval([samples[:35]], 0.9).samples_needed == 36


def width(tail: Tail) -> float:
    assert tail.low is not None
    assert tail.high is not None
    return tail.high - tail.low


def test_bursts_make_an_interval_wider_and_ask_for_more_samples():
    rng = np.random.default_rng(2)
    slow = np.repeat(rng.random(400) < 0.1, 10)
    samples = np.where(slow, 2 + rng.random(4000), 1 + 0.01 * rng.random(4000))
    shuffled = rng.permutation(samples)
    bursty, independent = (quantile_interval([s], 0.95) for s in (samples, shuffled))
    assert width(bursty) > 1.5 * width(independent)
    assert (quantile_interval([samples[:300]], 0.99).samples_needed or 0) > 368


def test_independent_samples_count_fully():
    rng = np.random.default_rng(5)
    assert integrated_time([rng.random(50_000) < 0.1]) == pytest.approx(1.0, abs=0.1)


def test_runs_of_ten_count_as_one():
    rng = np.random.default_rng(6)
    assert integrated_time([np.repeat(rng.random(5000) < 0.3, 10)]) == pytest.approx(10, rel=0.1)


def test_correlation_does_not_cross_the_border_of_a_session():
    whole = np.tile([True] * 5 + [False] * 5, 200)
    apart = [whole[i : i + 5] for i in range(0, whole.size, 5)]
    assert integrated_time(apart) == pytest.approx(5.0, rel=0.01)


def test_the_integrated_time_follows_its_definition():
    indicator = np.repeat(np.random.default_rng(7).random(60) < 0.4, 3)
    centred = indicator - indicator.mean()
    expected = 1.0
    for lag in range(1, indicator.size):
        r = float(centred[:-lag] @ centred[lag:]) / float(centred @ centred)
        if r < 0.02:
            break
        expected += 2 * r
    assert integrated_time([indicator]) == pytest.approx(expected)


@pytest.mark.parametrize("value", [True, False])
def test_something_that_never_changes_is_not_correlated(value):
    assert integrated_time([np.full(50, value)]) == 1.0


def test_equal_samples_have_an_interval_of_no_width():
    assert quantile_interval([np.ones(100)], 0.9) == Tail(0.9, 1.0, 1.0, 1.0, None)


def test_millions_of_samples_are_no_burden():
    rng = np.random.default_rng(8)
    sessions = [rng.lognormal(0, 0.1, 200_000) for _ in range(3)]
    tail = quantile_interval(sessions, 0.99)
    truth = math.exp(0.1 * stats.norm.ppf(0.99))
    assert (tail.low or math.inf) < truth < (tail.high or 0)


# ---------------------------------------------------------------- within one session


def test_within_a_session_samples_are_the_unit():
    samples = np.random.default_rng(10).lognormal(0, 0.02, 2000)
    estimate = tails.within_session([samples], 0.5, 0.95)
    assert estimate.low < 1.0 < estimate.high
    assert estimate.level == pytest.approx(0.95)
    assert (estimate.n, estimate.units) == (2000, "samples")


def test_too_few_samples_lower_the_level_instead_of_inventing_one():
    samples = np.array([1.3, 1.1, 1.4, 1.2, 1.6, 1.0])
    estimate = tails.within_session([samples[:4]], 0.5, 0.95)
    assert (estimate.low, estimate.high) == (1.1, 1.4)
    assert estimate.level == pytest.approx(1 - 2 * 0.5**4)


# ---------------------------------------------------------------- trend


@pytest.mark.parametrize("sessions", [1, 2, 3, 4, 8, 9, 12, 24])
def test_a_constant_engine_has_no_trend(sessions):
    assert not has_level_moved(steady_sessions(sessions))


@pytest.mark.parametrize("sessions", [1, 2, 3, 4, 8, 9, 12, 24])
@pytest.mark.parametrize("step", [1.15, 3.0])
def test_a_step_up_after_60_percent_of_the_time_is_a_trend(sessions, step):
    steady = steady_sessions(sessions)
    when = 0.6 * sum(session.sum() for session in steady) / (0.6 + 0.4)
    stepped, passed = [], 0.0
    for session in steady:
        times = passed + np.cumsum(session)
        passed = times[-1]
        # Slower samples, fewer of them: the step lasts as long as it would on the clock.
        after = session[times > when][:: max(1, round(step))] * step
        stepped.append(np.concatenate([session[times <= when], after]))
    assert moved_across(stepped) or sessions == 1
    assert has_level_moved(stepped)


@pytest.mark.parametrize("sessions", [1, 3, 12])
def test_slowing_down_inside_every_session_is_a_trend(sessions):
    ramp = np.where(np.arange(600) > 360, 1.05, 1.0)
    slowing = [session * ramp for session in steady_sessions(sessions)]
    assert moved_within(slowing)
    assert not moved_within(steady_sessions(sessions))


@pytest.mark.parametrize("sessions", [1, 2, 4, 12])
@pytest.mark.parametrize("slow_share", [0.25, 0.5, 0.75, 0.8])
def test_a_periodic_engine_has_no_trend(sessions, slow_share):
    wave = np.where(np.arange(600) % 40 < 40 * slow_share, 1.3, 1.0)
    assert not has_level_moved([session * wave for session in steady_sessions(sessions)])


def test_two_sessions_placed_differently_are_no_trend():
    first, second = steady_sessions(2, placement=0)
    assert not has_level_moved([first, second * 1.025])


def test_a_handful_of_samples_is_too_few_for_a_trend():
    assert not has_level_moved([np.array([1.0, 1.0, 1.0, 2.0, 2.0, 2.0])])
    assert not has_level_moved([np.array([1.0])])


def test_trends_are_seldom_reported_where_there_are_none():
    false = sum(has_level_moved(steady_sessions(6, 200, seed, 0.012)) for seed in range(100))
    assert false <= 3


# ---------------------------------------------------------------- round by round


def two_speeds(rng, rounds=20, turn=5):
    """A and B in ABBA turns on a machine that is fast for short spells, a tenth of the time."""
    fast = np.zeros(4 * rounds, dtype=bool)
    for start in rng.integers(0, fast.size, rng.poisson(2)):
        fast[start : start + rng.integers(2, 7)] = True
    speed = np.repeat(np.where(fast, 1.0, 1.4), turn).reshape(rounds, 4, turn)
    noise = 1 + 0.01 * rng.random(speed.shape)
    samples = speed * noise
    return samples[:, [0, 3]].ravel(), samples[:, [1, 2]].ravel()


def test_a_machine_with_two_speeds_does_not_shake_a_pair():
    rng = np.random.default_rng(4)
    pairs = [two_speeds(rng) for _ in range(300)]
    whole = [log_ratio(a, b) for a, b in pairs]
    by_rounds = [log_ratio_by_rounds(a, b, 0.1, 10) for a, b in pairs]
    assert np.std(by_rounds) < 0.1 * np.std(whole)
    assert abs(np.mean(by_rounds)) < 0.001


def test_rounds_of_one_whole_pair_are_the_plain_ratio():
    a, b = np.arange(1.0, 101), np.arange(2.0, 102)
    assert log_ratio_by_rounds(a, b, 0.1, 100) == pytest.approx(log_ratio(a, b))
    assert log_ratio_by_rounds(a, b, 0.1, 500) == pytest.approx(log_ratio(a, b))
