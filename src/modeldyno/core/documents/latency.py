"""How long calls took."""

from __future__ import annotations

from dataclasses import dataclass

from modeldyno.core.documents.described import Amount, Described, Share
from modeldyno.core.documents.figure import Figure
from modeldyno.core.results import Latency


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelDocument(Described):
    """Milliseconds of one call, that is of a whole batch."""

    typical: Figure
    """What a caller typically sees: the median."""
    floor: Figure | None
    """What the work costs: the 10th percentile."""

    @classmethod
    def of(cls, typical: Figure, decisive: Figure) -> LevelDocument:
        return cls(typical=typical, floor=decisive)


@dataclass(frozen=True, slots=True, kw_only=True)
class LatencyDocument(Described):
    """Milliseconds of one call, that is of a whole batch. Rows that an earlier version wrote have
    null where it kept less."""

    typical: Figure
    """What a caller typically sees: the median of a session's samples, geometric mean over
    sessions."""
    floor: Figure
    """What the work costs: the 10th percentile of a session's samples, geometric mean over
    sessions."""
    mean: Amount | None
    """Mean of all samples."""
    stdev: Amount | None
    """Standard deviation of all samples; not the uncertainty of anything else here. Null of a
    single one."""
    min: Amount | None
    """Quickest sample; it depends on how many were taken."""
    max: Amount | None
    """Slowest sample."""
    p90: Figure
    """90th percentile of the samples, which are means of `calls_per_sample` calls. The intervals of
    percentiles are wide enough for slow calls that come in bursts."""
    p95: Figure
    """95th percentile."""
    p99: Figure
    """99th percentile."""
    outlier_share: Share | None
    """Share of samples above 1.5 × floor; they are counted, never removed."""

    @classmethod
    def of(cls, latency: Latency, samples: int) -> LatencyDocument:
        stdev_s = latency.stdev_s
        return cls(
            typical=Figure.of_estimate(latency.typical, 1e3),
            floor=Figure.of_estimate(latency.floor, 1e3),
            mean=latency.mean_s * 1e3,
            stdev=None if stdev_s is None else stdev_s * 1e3,
            min=latency.min_s * 1e3,
            max=latency.largest_s * 1e3,
            p90=Figure.of_tail(latency.p90, samples, 1e3),
            p95=Figure.of_tail(latency.p95, samples, 1e3),
            p99=Figure.of_tail(latency.p99, samples, 1e3),
            outlier_share=latency.outlier_share,
        )
