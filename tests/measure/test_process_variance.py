"""When processes, not pairs, are the unit of a ratio."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from modeldyno.measure.process_variance import analyse_variance, estimate_mean

PAIRS = (6, 9, 12, 24)


def share(values, names):
    return analyse_variance(values, names).share


def test_identical_processes_have_no_share_of_the_variance():
    assert share([1, 2, 3, 1, 2, 3], "aaabbb") == 0.0


def test_processes_that_explain_everything_have_all_of_it():
    assert share([1, 1, 1, 2, 2], "aaabb") == pytest.approx(1.0)


def test_the_share_is_recovered_from_unequal_groups():
    rng = np.random.default_rng(3)
    shares = []
    for _ in range(200):
        sizes = rng.integers(4, 12, 30)
        names = np.repeat(np.arange(30), sizes)
        values = np.repeat(rng.normal(0, 1, 30), sizes) + rng.normal(0, 1, names.size)
        shares.append(share(values.tolist(), names.tolist()))
    assert np.mean(shares) == pytest.approx(0.5, abs=0.03)


@pytest.mark.parametrize("names", ["aaa", "abc"])
def test_nothing_is_claimed_where_processes_and_sessions_coincide(names):
    variance = analyse_variance([1.0, 2.0, 3.0], names)
    assert (variance.share, variance.p_value) == (0.0, 1.0)


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(-1000, 1000)), min_size=7))
def test_the_f_test_agrees_with_scipy(drawn):
    drawn += [("a", 0), ("b", 1), ("c", 2), ("a", 3)]  # each process has some, and they vary
    names, values = zip(*drawn, strict=True)
    groups = [[v for n, v in drawn if n == name] for name in "abc"]
    expected = stats.f_oneway(*groups).pvalue
    assert analyse_variance(values, names).p_value == pytest.approx(expected, rel=1e-6, abs=1e-12)


# ---------------------------------------------------------------- coverage


def simulated(pairs, process_sd, runs=3000):
    """Runs of so many pairs in three processes, true mean 0; pairs of one process vary by 1."""
    rng = np.random.default_rng([pairs, int(process_sd)])
    names = np.repeat(np.arange(3), pairs // 3)
    for _ in range(runs):
        values = (rng.normal(0, process_sd, 3)[names] + rng.normal(0, 1, pairs)).tolist()
        yield estimate_mean(values, analyse_variance(values, names.tolist()), 0.95)


@pytest.mark.parametrize("pairs", PAIRS)
def test_processes_become_the_unit_by_chance_in_one_run_of_twenty_at_most(pairs):
    units = [estimate.units for estimate in simulated(pairs, process_sd=0)]
    assert units.count("processes") / len(units) <= 0.06


@pytest.mark.parametrize("process_sd", [0, 10])
@pytest.mark.parametrize("pairs", PAIRS)
def test_intervals_cover_whether_processes_differ_or_not(pairs, process_sd):
    covered = [estimate.low <= 0 <= estimate.high for estimate in simulated(pairs, process_sd)]
    assert 0.93 <= np.mean(covered) <= 0.98


def test_differing_processes_are_the_unit():
    units = [estimate.units for estimate in simulated(12, process_sd=10)]
    assert units.count("processes") / len(units) > 0.97


def test_a_difference_between_processes_that_may_be_luck_still_widens_the_interval():
    values, names = [0.0, 1.0, 1.5, 2.5, 3.0, 4.0], "aabbcc"
    variance = analyse_variance(values, names)
    assert variance.p_value > 0.05
    estimate = estimate_mean(values, variance, 0.95)
    among_pairs = stats.sem(values) * stats.t.ppf(0.975, 5)
    assert (estimate.units, estimate.n) == ("pairs", 6)
    assert estimate.half_width == pytest.approx(
        (variance.between / 6) ** 0.5 * stats.t.ppf(0.975, 5)
    )
    assert estimate.half_width > among_pairs


def test_two_processes_do_not_show_how_much_processes_differ():
    values, names = [0.0, 0.1, 5.0, 5.1], "aabb"
    estimate = estimate_mean(values, analyse_variance(values, names), 0.95)
    assert (estimate.units, estimate.n) == ("pairs", 4)
