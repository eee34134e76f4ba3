"""How the samples of a cell are distributed, as a document that is ready to draw."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, sqrt

import numpy as np

from modeldyno.core.documents.figures import (
    DistributionDocument,
    Figure,
    HistogramDocument,
    OutliersDocument,
    PercentileDocument,
    PointDocument,
    SessionSamplesDocument,
)
from modeldyno.core.ids import RunId
from modeldyno.measure import statistics
from modeldyno.measure.benchmark import level_over_sessions
from modeldyno.measure.statistics import FloatArray
from modeldyno.measure.tails import quantile_interval

PERCENTILES = (0.10, 0.25, 0.50, 0.75, 0.90, 0.95, 0.99)
BAND = (0.10, 0.90)  # eight of ten samples
PEAK_SHARE = 0.25  # of all samples: this many slow ones are a second peak, not outliers
BINS = (5, 40)  # fewest and most


def distribution(
    run_id: RunId, cell: int, sessions: Sequence[FloatArray], most_points: int
) -> DistributionDocument:
    """``sessions`` are seconds per call, in the order they were taken; none of them is empty."""
    sessions_ms = [session * 1e3 for session in sessions]
    samples = np.concatenate(sessions_ms)
    outliers = _outliers_document(sessions_ms, samples)
    low, median, high = np.quantile(samples, (BAND[0], 0.5, BAND[1])).tolist()
    step = max(1, ceil(samples.size / most_points))
    return DistributionDocument(
        run_id=run_id,
        cell=cell,
        samples=samples.size,
        sessions=len(sessions_ms),
        points=_choose_points(sessions_ms, samples, step),
        is_thinned=step > 1,
        samples_per_point=step,
        histogram=_histogram_document(samples, _upper_edge(samples, high, outliers.limit_ms)),
        mean_ms=float(samples.mean()),
        median_ms=median,
        low_ms=low,
        high_ms=high,
        min_ms=float(samples.min()),
        max_ms=float(samples.max()),
        outliers=outliers,
        by_session=tuple(_session_document(session) for session in sessions_ms),
        percentiles=tuple(
            PercentileDocument(
                quantile=q, ms=Figure.of_tail(quantile_interval(sessions_ms, q), samples.size)
            )
            for q in PERCENTILES
        ),
    )


def _outliers_document(sessions: Sequence[FloatArray], samples: FloatArray) -> OutliersDocument:
    """Uses the floor of the published result, so that both count the same samples."""
    limit = statistics.OUTLIER * level_over_sessions(sessions, statistics.FLOOR).value
    count = int(np.count_nonzero(samples > limit))
    return OutliersDocument(
        limit_ms=limit, samples=count, has_several_peaks=count > PEAK_SHARE * samples.size
    )


def _upper_edge(samples: FloatArray, p90: float, limit: float) -> float:
    """Where drawings end, so that one slow call does not flatten all others."""
    return 1.02 * min(float(samples.max()), max(1.6 * p90, 1.1 * limit))


def _histogram_document(samples: FloatArray, until: float) -> HistogramDocument:
    """The number of bins is the square root of the number of samples."""
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


def _session_document(samples: FloatArray) -> SessionSamplesDocument:
    low, median, high = np.quantile(samples, (BAND[0], 0.5, BAND[1])).tolist()
    return SessionSamplesDocument(samples=samples.size, median_ms=median, low_ms=low, high_ms=high)


def _choose_points(
    sessions: Sequence[FloatArray], samples: FloatArray, step: int
) -> tuple[PointDocument, ...]:
    """Every ``step``-th sample, to keep drawing cheap."""
    sizes = [session.size for session in sessions]
    numbers = np.repeat(np.arange(len(sizes)), sizes)
    starts = np.repeat(np.cumsum([0, *sizes[:-1]]), sizes)
    places = np.arange(0, samples.size, step)
    return tuple(
        PointDocument(session=session, sample=place - start, iteration=place + 1, ms=ms)
        for place, session, start, ms in zip(
            places.tolist(),
            numbers[places].tolist(),
            starts[places].tolist(),
            samples[places].tolist(),
            strict=True,
        )
    )
