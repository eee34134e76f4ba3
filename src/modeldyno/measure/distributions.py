"""How the samples of a cell are distributed, in a document that can be drawn as it is."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, sqrt

import numpy as np

from modeldyno.core.documents.distribution import (
    DistributionDocument,
    HistogramDocument,
    OutliersDocument,
    PercentileDocument,
    PointDocument,
    SessionSamplesDocument,
)
from modeldyno.core.documents.figure import Figure
from modeldyno.core.ids import RunId
from modeldyno.measure import statistics
from modeldyno.measure.benchmark import level_over_sessions
from modeldyno.measure.statistics import FloatArray
from modeldyno.measure.tails import quantile_interval

PERCENTILES = (0.10, 0.25, 0.50, 0.75, 0.90, 0.95, 0.99)
BAND = (0.10, 0.90)  # eight of ten samples
MANY = 0.25  # of all samples: so many slow ones are no exceptions but another peak
BINS = (5, 40)  # the fewest and the most


def distribution(
    run_id: RunId, cell: int, sessions: Sequence[FloatArray], most_points: int
) -> DistributionDocument:
    """``sessions`` are seconds per call, in the order they were taken; none of them is empty."""
    each = [session * 1e3 for session in sessions]
    samples = np.concatenate(each)
    outliers = _outliers(each, samples)
    low, median, high = np.quantile(samples, (BAND[0], 0.5, BAND[1])).tolist()
    step = max(1, ceil(samples.size / most_points))
    return DistributionDocument(
        run_id=run_id,
        cell=cell,
        samples=samples.size,
        sessions=len(each),
        points=_points(each, samples, step),
        is_thinned=step > 1,
        samples_per_point=step,
        histogram=_histogram(samples, _drawn_until(samples, high, outliers.limit_ms)),
        mean_ms=float(samples.mean()),
        median_ms=median,
        low_ms=low,
        high_ms=high,
        min_ms=float(samples.min()),
        max_ms=float(samples.max()),
        outliers=outliers,
        by_session=tuple(_of_session(session) for session in each),
        percentiles=tuple(
            PercentileDocument(
                quantile=q, ms=Figure.of_tail(quantile_interval(each, q), samples.size)
            )
            for q in PERCENTILES
        ),
    )


def _outliers(sessions: Sequence[FloatArray], samples: FloatArray) -> OutliersDocument:
    """By the floor that the result shows, so that both count the same samples."""
    limit = statistics.OUTLIER * level_over_sessions(sessions, statistics.FLOOR).value
    count = int(np.count_nonzero(samples > limit))
    return OutliersDocument(
        limit_ms=limit, samples=count, has_several_peaks=count > MANY * samples.size
    )


def _drawn_until(samples: FloatArray, p90: float, limit: float) -> float:
    """Where drawings end: one slow call must not flatten all others."""
    return 1.02 * min(float(samples.max()), max(1.6 * p90, 1.1 * limit))


def _histogram(samples: FloatArray, until: float) -> HistogramDocument:
    """As many bins as the root of the number of samples."""
    lowest = float(samples.min())
    fewest, most = BINS
    bins = max(fewest, min(most, ceil(sqrt(samples.size))))
    inside = samples[samples <= until]
    counts, edges = np.histogram(inside, bins, (lowest, max(until, lowest * 1.0001)))
    return HistogramDocument(
        edges_ms=tuple(edges.tolist()),
        counts=tuple(counts.tolist()),
        above=samples.size - inside.size,
    )


def _of_session(samples: FloatArray) -> SessionSamplesDocument:
    low, median, high = np.quantile(samples, (BAND[0], 0.5, BAND[1])).tolist()
    return SessionSamplesDocument(samples=samples.size, median_ms=median, low_ms=low, high_ms=high)


def _points(
    sessions: Sequence[FloatArray], samples: FloatArray, step: int
) -> tuple[PointDocument, ...]:
    """Every ``step``-th sample: enough to see, few enough to draw."""
    sizes = [session.size for session in sessions]
    numbers = np.repeat(np.arange(len(sizes)), sizes)
    begins = np.repeat(np.cumsum([0, *sizes[:-1]]), sizes)
    places = np.arange(0, samples.size, step)
    return tuple(
        PointDocument(session=session, sample=place - begin, iteration=place + 1, ms=ms)
        for place, session, begin, ms in zip(
            places.tolist(),
            numbers[places].tolist(),
            begins[places].tolist(),
            samples[places].tolist(),
            strict=True,
        )
    )
