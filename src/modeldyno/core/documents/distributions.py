"""How the samples of a cell are distributed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from modeldyno.core.documents.described import Amount, Count, Described, Share, Size
from modeldyno.core.documents.figures import Figure
from modeldyno.core.ids import RunId


@dataclass(frozen=True, slots=True, kw_only=True)
class PointDocument(Described):
    """One sample, to be drawn."""

    session: Count
    """From 0, in the order in which they were measured."""
    sample: Count
    """Its place within its session, from 0."""
    iteration: Size
    """Its place among all samples of the cell, from 1."""
    ms: Amount
    """Of one call, that is of a whole batch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HistogramDocument(Described):
    """All samples in bins of one width, from the quickest up."""

    edges_ms: tuple[Amount, ...]
    """One more than there are counts. The last is where drawings end, so that one slow call does
    not flatten all others."""
    counts: tuple[Count, ...]
    """Samples in each bin."""
    above: Count
    """Samples beyond the last edge; they count everywhere else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionSamplesDocument(Described):
    """The samples of one session."""

    samples: Count
    """How many it took."""
    median_ms: Amount
    """Median of its samples."""
    low_ms: Amount
    """Lower edge of the band that holds eight of ten: the 10th percentile."""
    high_ms: Amount
    """Upper edge of that band: the 90th percentile."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OutliersDocument(Described):
    """Slow samples: counted, never removed."""

    limit_ms: Amount
    """1.5 × floor: what takes longer is slow."""
    samples: Count
    """How many took longer."""
    has_several_peaks: bool
    """Whether they are too many to be exceptions, more than a quarter: then the samples have more
    than one peak."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PercentileDocument(Described):
    """A percentile of all samples."""

    quantile: Share
    """0.99 for the 99th percentile."""
    ms: Figure
    """Its `value` is null when there are too few samples to know it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DistributionDocument(Described):
    """How the samples of a cell are distributed: in order, in bins, and by percentiles. The size of
    this document does not grow with the number of samples."""

    schema: Literal["modeldyno.distribution/1"] = "modeldyno.distribution/1"
    """Name and version of this document."""
    run_id: RunId
    """Run that measured the cell."""
    cell: Count
    """Number of the cell, from 0."""
    samples: Size
    """Samples of the cell, in all sessions together."""
    sessions: Size
    """Sessions they were taken in."""
    points: tuple[PointDocument, ...]
    """In the order in which they were measured."""
    is_thinned: bool
    """Whether there are more samples than points."""
    samples_per_point: Size
    """Every so many-th sample is a point."""
    histogram: HistogramDocument
    """Of all samples."""
    mean_ms: Amount
    """Mean of all samples."""
    median_ms: Amount
    """Median of all samples."""
    low_ms: Amount
    """Lower edge of the band that holds eight of ten samples: the 10th percentile."""
    high_ms: Amount
    """Upper edge of that band: the 90th percentile."""
    min_ms: Amount
    """Quickest sample."""
    max_ms: Amount
    """Slowest sample."""
    outliers: OutliersDocument
    """Samples far above what the work costs."""
    by_session: tuple[SessionSamplesDocument, ...]
    """Each session's samples, in the order in which they were measured."""
    percentiles: tuple[PercentileDocument, ...]
    """With intervals that allow for slow calls in bursts."""
