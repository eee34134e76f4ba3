"""What limits a node, held against the machine's peaks."""

import pytest

from modeldyno.core.documents.hosts import Peak, Peaks
from modeldyno.core.roofline import compare_to_roof, find_roof

PEAKS = Peaks(
    fingerprint="f",
    created_at="2026-11-16T10:00:00+00:00",
    engine="onnxruntime 1.31.0",
    work="fp32 MatMul",
    traffic="c = a + b",
    peaks=(Peak(1, 100e9, 10e9, "quiet"), Peak(8, 600e9, 40e9, "noisy")),
)


@pytest.mark.parametrize(
    ("flop", "moved", "bound", "reason"),
    [
        (70e9, 1e9, "compute", "70.0 GFLOP/s, 70 % of the peak"),
        (1e9, 8e9, "memory", "8.00 GB/s, 80 % of the peak"),
        (40e9, 30e9, "compute", "out of caches"),
        (5e9, 1e9, "overhead", "a kernel that is slow"),
        (0.0, 0.0, "overhead", "nothing that must move"),
        (None, 9e9, "memory", "9.00 GB/s"),
        (None, 1e9, None, "its arithmetic cannot be determined"),
        (None, None, None, "its work is not known"),
    ],
)
def test_the_limit_follows_from_what_was_reached(flop, moved, bound, reason):
    found = compare_to_roof(flop, moved, 1.0, find_roof(PEAKS, 1, "cpu"))
    assert found.bound == bound
    assert reason in found.reason


def test_peaks_are_those_of_so_many_cores():
    one, some, all_ = (find_roof(PEAKS, cores, "cpu") for cores in (1, 4, 16))
    assert (one.flops_per_s, one.ridge) == (100e9, 10)
    assert some.flops_per_s == pytest.approx(100e9 + 500e9 * 3 / 7)
    assert "between those of 1 and 8" in some.text
    assert "measured noisy" in some.text
    assert all_.flops_per_s == 600e9
    assert "as of 8" in all_.text


def test_without_peaks_it_says_how_to_get_them():
    nowhere = compare_to_roof(70e9, 1e9, 1.0, find_roof(None, 1, "cpu"))
    assert nowhere.bound is None
    assert "doctor --peaks" in nowhere.reason
    assert nowhere.flops_per_s == 70e9
    assert "not of cuda:0" in find_roof(PEAKS, 1, "cuda:0").text


def test_a_rate_above_the_peak_is_not_shown_and_the_reason_says_so():
    roof = find_roof(PEAKS, 1, "cpu")
    cached, quick = compare_to_roof(40e9, 30e9, 1.0, roof), compare_to_roof(140e9, 1e9, 1.0, roof)
    assert (cached.flops_per_s, cached.bytes_per_s) == (40e9, None)
    assert "30.0 GB/s, 300 % of the peak, out of caches or in a time too short" in cached.reason
    assert (quick.flops_per_s, quick.bytes_per_s) == (None, 1e9)
    assert "140 % of the peak, in other arithmetic or a time too short" in quick.reason
    at_peak = compare_to_roof(100e9, 10e9, 1.0, roof)  # the control
    assert (at_peak.flops_per_s, at_peak.bytes_per_s) == (100e9, 10e9)


def test_what_took_an_unknown_time_has_no_rates():
    found = compare_to_roof(
        70e9, 1e9, 1.0, find_roof(PEAKS, 1, "cpu"), unknown="other work interrupted it"
    )
    assert (found.flops_per_s, found.bytes_per_s, found.bound) == (None, None, None)
    assert found.reason == "its time is not known: other work interrupted it"
