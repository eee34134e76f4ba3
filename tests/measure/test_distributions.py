"""How samples are distributed: what the page draws."""

import numpy as np
import pytest

from modeldyno.api.v1.shape import answer
from modeldyno.core.documents.figures import DistributionDocument, SessionSamplesDocument
from modeldyno.core.ids import RunId
from modeldyno.measure.distributions import distribution

RUN = RunId("20261115-095116-3fa9c1")
ONE_SLOW = [*(1 + place / 1000 for place in range(99)), 50]


def drawn(*sessions_ms: list[float], most_points: int = 2000) -> DistributionDocument:
    sessions = [np.array(session) / 1e3 for session in sessions_ms]
    return distribution(RUN, 3, sessions, most_points)


def test_the_median_lies_between_samples():
    document = drawn([1, 2, 3, 4])
    assert document.median_ms == pytest.approx(2.5)
    assert (document.low_ms, document.high_ms) == pytest.approx((1.3, 3.7))
    assert (document.min_ms, document.mean_ms, document.max_ms) == pytest.approx((1, 2.5, 4))


def test_outliers_are_counted_and_not_removed():
    document = drawn(ONE_SLOW)
    assert document.outliers.samples == 1
    assert document.max_ms == pytest.approx(50)
    assert not document.outliers.has_several_peaks
    assert document.outliers.limit_ms == pytest.approx(1.5 * 1.009)


def test_so_many_slow_samples_that_they_are_no_exceptions_are_another_peak():
    outliers = drawn([1.0] * 10 + [3.0] * 50).outliers
    assert (outliers.samples, outliers.has_several_peaks) == (50, True)


def test_outliers_are_those_of_the_result():
    """Where sessions differ, the floor is the mean of theirs."""
    outliers = drawn(*([level] * 10 for level in (1.0, 1.0, 4.0, 4.0))).outliers
    assert outliers.limit_ms == pytest.approx(1.5 * 2)
    assert outliers.samples == 20


def test_bins_hold_every_sample_once_and_leave_out_what_is_far_away():
    document = drawn(ONE_SLOW)
    bins = document.histogram
    assert sum(bins.counts) + bins.above == 100
    assert bins.above == 1
    assert (len(bins.counts), len(bins.edges_ms)) == (10, 11)
    assert bins.edges_ms[0] == document.min_ms
    assert bins.edges_ms[-1] < 2


@pytest.mark.parametrize(("samples", "bins"), [(1, 5), (400, 20), (5000, 40)])
def test_there_are_as_many_bins_as_the_samples_can_fill(samples, bins):
    histogram = drawn([1.0] * samples).histogram
    assert len(histogram.counts) == bins
    assert sum(histogram.counts) == samples


def test_a_long_run_is_thinned_evenly():
    document = drawn([float(place) for place in range(1, 11)], most_points=5)
    assert [point.sample for point in document.points] == [0, 2, 4, 6, 8]
    assert (document.is_thinned, document.samples_per_point) == (True, 2)
    document = drawn([1, 2, 3], most_points=5)
    assert [point.sample for point in document.points] == [0, 1, 2]
    assert (document.is_thinned, document.samples_per_point) == (False, 1)


def test_points_know_their_session():
    document = drawn([1, 2, 3], [4, 5], most_points=3)
    places = [(point.session, point.sample, point.iteration) for point in document.points]
    assert places == [(0, 0, 1), (0, 2, 3), (1, 1, 5)]
    assert [point.ms for point in document.points] == pytest.approx([1, 3, 5])


def test_every_session_has_its_band():
    document = drawn([1, 3], [10, 20, 30])
    assert document.sessions == 2
    assert [session.samples for session in document.by_session] == [2, 3]
    assert [session.median_ms for session in document.by_session] == pytest.approx([2, 20])
    session = document.by_session[1]
    assert isinstance(session, SessionSamplesDocument)
    assert (session.low_ms, session.high_ms) == pytest.approx((12, 28))


def test_the_document_does_not_grow_with_the_samples():
    samples = np.random.default_rng(1).lognormal(0, 0.1, 200_000).tolist()
    document = drawn(samples)
    assert document.samples == 200_000
    assert len(document.points) == 2000
    assert len(answer(document).body) < 200_000
