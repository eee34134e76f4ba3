"""Student's t against scipy, the oracle."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special, stats

from modeldyno.measure.student import half_interval, incomplete_beta, t_cdf, t_quantile, two_sided_p

CHANCES = (0.5001, 0.51, 0.6, 0.74, 0.75, 0.76, 0.9, 0.95, 0.975, 0.985, 0.989, 0.995, 0.9999)


def test_quantiles_agree_with_scipy_to_eight_digits():
    for df in (*range(1, 60), 99, 250, 500, 999, 1000):
        for p in CHANCES:
            assert t_quantile(p, df) == pytest.approx(stats.t.ppf(p, df), rel=1e-8), (p, df)


@given(st.floats(0.5001, 0.9999), st.floats(1, 1000))
def test_fractional_degrees_of_freedom_agree_too(p, df):
    assert t_quantile(p, df) == pytest.approx(stats.t.ppf(p, df), rel=1e-8)


@given(st.floats(0.0001, 0.4999), st.integers(1, 1000))
def test_the_lower_half_mirrors_the_upper(p, df):
    assert t_quantile(p, df) == -t_quantile(1 - p, df)


@given(st.floats(0.0001, 0.9999), st.integers(1, 1000))
def test_the_distribution_undoes_its_quantile(p, df):
    assert t_cdf(t_quantile(p, df), df) == pytest.approx(p, rel=1e-9)


def test_a_hair_above_the_middle_is_the_density_there():
    # scipy itself is off in the fourth digit here
    assert t_quantile(0.5 + 1e-9, 4) == pytest.approx((0.5 + 1e-9 - 0.5) / 0.375, rel=1e-9)


def test_the_middle_is_zero():
    assert t_quantile(0.5, 7) == 0.0


@pytest.mark.parametrize("p", [0.0, 1.0, -0.1, 1.1, math.nan])
def test_a_chance_outside_the_open_unit_interval_is_refused(p):
    with pytest.raises(ValueError, match="between 0 and 1"):
        t_quantile(p, 5)


def test_no_degrees_of_freedom_are_refused():
    with pytest.raises(ValueError, match="degrees of freedom"):
        t_quantile(0.9, 0)


def test_the_usual_table_entries():
    assert half_interval(0.95, 11) == pytest.approx(2.200985, abs=1e-6)
    assert half_interval(0.97, 7) == pytest.approx(2.714573, abs=1e-6)


@given(st.floats(-50, 50), st.integers(1, 300))
def test_p_values_agree_with_scipy(t, df):
    assert two_sided_p(t, df) == pytest.approx(2 * stats.t.sf(abs(t), df), rel=1e-8)


@pytest.mark.parametrize(
    ("a", "b", "x"),
    [(0.5, 0.5, 0.3), (36, 1, 0.9), (24_000, 2_376_000, 0.0101), (2_376_000, 24_000, 0.98995)],
)
def test_the_incomplete_beta_holds_for_millions_of_samples(a, b, x):
    assert incomplete_beta(a, b, x) == pytest.approx(special.betainc(a, b, x), rel=1e-6)


def test_the_incomplete_beta_ends_at_zero_and_one():
    assert (incomplete_beta(2, 3, 0), incomplete_beta(2, 3, 1)) == (0, 1)
