"""Verdicts on comparisons and on noise."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from modeldyno.core.results import Estimate, gate_outcome
from modeldyno.measure.verdicts import compare_verdict, noise_verdict, pairs_needed


def ratio(low, high, n=12):
    return Estimate((low + high) / 2, low, high, 0.95, n, "pairs")


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (1.021, 1.03, "slower"),
        (0.95, 0.979, "faster"),
        (0.99, 1.01, "equivalent"),
        (0.98, 1.02, "equivalent"),
        (1.005, 1.015, "different-but-small"),
        (0.985, 0.995, "different-but-small"),
        (1.01, 1.03, "inconclusive"),
        (0.97, 0.99, "inconclusive"),
        (0.97, 1.03, "inconclusive"),
        (1.02, 1.03, "inconclusive"),
    ],
)
def test_the_interval_and_the_margin_give_the_verdict(low, high, verdict):
    assert compare_verdict(ratio(low, high), 0.02) == verdict


@given(st.floats(0.5, 2), st.floats(0, 0.5), st.floats(0.001, 0.2))
def test_an_interval_that_holds_one_is_never_faster_or_slower(value, half, margin):
    verdict = compare_verdict(ratio(value - half, value + half), margin)
    if value - half <= 1 <= value + half:
        assert verdict in ("equivalent", "inconclusive")


def test_four_times_the_pairs_halve_the_interval():
    assert pairs_needed(ratio(0.96, 1.04), 0.02) == pytest.approx(48, abs=1)


def test_more_pairs_than_were_taken_are_needed():
    assert pairs_needed(ratio(1.019, 1.0225), 0.01) == 13


def test_a_change_as_large_as_the_margin_cannot_be_decided_by_more_pairs():
    assert pairs_needed(ratio(1.015, 1.025), 0.02) is None
    assert pairs_needed(ratio(1.01501, 1.02501), 0.02) is None


@pytest.mark.parametrize(
    ("low", "high", "answer"),
    [
        (1.06, 1.08, "fail"),
        (0.99, 1.04, "pass"),
        (0.5, 0.6, "pass"),
        (1.03, 1.05, "pass"),
        (1.04, 1.06, "inconclusive"),
        (1.05, 1.06, "inconclusive"),
    ],
)
def test_the_gate_fails_only_when_the_whole_interval_is_beyond_what_is_allowed(low, high, answer):
    assert gate_outcome(ratio(low, high), 0.05) == answer


@pytest.mark.parametrize(
    ("contention", "gap", "width", "trend", "steady", "noise"),
    [
        (1.01, 1.01, 0.005, False, True, "quiet"),
        (None, 1.01, 0.005, False, True, "quiet"),
        (1.05, 1.01, 0.005, False, True, "noisy"),
        (1.01, 1.03, 0.005, False, True, "noisy"),
        (1.01, 1.01, 0.011, False, True, "noisy"),
        (1.2, 1.4, 0.015, False, True, "noisy"),
        (None, 2.0, 0.015, False, True, "noisy"),
        (1.2, 1.05, 0.03, False, True, "noisy"),
        (1.5, 1.01, 0.005, False, True, "contended"),
        (6.3, 4.0, 0.04, False, True, "contended"),
        (1.01, 1.01, 0.051, False, True, "unusable"),
        (1.01, 1.01, math.inf, False, True, "unusable"),
        (1.01, 1.01, math.nan, False, True, "unusable"),
        (1.01, 1.01, 0.005, True, True, "unusable"),
        (1.01, 1.01, 0.005, False, False, "unusable"),
        (6.3, 4.0, 0.2, True, False, "unusable"),
    ],
)
def test_the_noise_table(contention, gap, width, trend, steady, noise):
    verdict, reasons = noise_verdict(contention, gap, width, trend, steady)
    assert verdict == noise
    assert reasons
    assert all(reason.endswith(".") for reason in reasons)


@pytest.mark.parametrize("samples", [1, 2, 3, 4, 5])
def test_a_handful_of_samples_is_unusable_however_close_they_lie(samples):
    verdict, reasons = noise_verdict(1.0, 1.0, 0.0, False, True, 0.0, samples)
    assert (verdict, len(reasons)) == ("unusable", 1)
    assert "too few to know how precise the number is" in reasons[0]
    assert noise_verdict(1.0, 1.0, 0.0, False, True, 0.0, 6)[0] == "quiet"


def test_a_wide_interval_warns_of_comparisons_below_it():
    _, reasons = noise_verdict(1.2, 1.05, 0.034, False, True)
    assert any(
        "±3.4 %" in reason and "do not trust comparisons at a smaller margin" in reason
        for reason in reasons
    )


def test_every_reason_of_an_unusable_number_is_given():
    _, reasons = noise_verdict(3.2, 1.5, 0.08, True, False)
    assert len(reasons) == 5


def test_an_interval_as_wide_as_the_value_is_unusable():
    """However well the floor is known: ten calls of 72 µs ± 103."""
    noise, reasons = noise_verdict(1.0, 1.01, 0.005, False, True, typical_half_width=1.43)
    wider = "is hardly known: its interval is wider than the value itself."
    assert (noise, reasons[0]) == ("unusable", f"The typical latency {wider}")
    _, reasons = noise_verdict(1.0, 1.01, 0.005, False, True, typical_half_width=0.76)
    assert reasons[0] == "The typical latency is known to ±76 % only."
    _, reasons = noise_verdict(1.0, 1.01, 135.366, False, True)
    assert reasons[0] == f"The floor {wider} Measure longer or on a quieter machine."
    assert noise_verdict(1.0, 1.01, 0.005, False, True, typical_half_width=0.1)[0] == "quiet"


def test_an_unknown_floor_is_not_recommended():
    assert not any("Rely on the floor" in r for r in noise_verdict(2.0, 1.2, 0.12, False, True)[1])
    assert any("Rely on the floor" in r for r in noise_verdict(2.0, 1.2, 0.01, False, True)[1])
