"""Numbers with their intervals, latencies made of them, and the columns that show them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cache
from types import MappingProxyType
from typing import Any, Literal, get_args, get_type_hints

from modeldyno.core import figures
from modeldyno.core.documents.described import (
    Amount,
    Count,
    Described,
    Share,
    Size,
    to_milliseconds,
)
from modeldyno.core.ids import RunId
from modeldyno.core.results import Estimate, Latency, Repeat, Tail


@dataclass(frozen=True, slots=True, kw_only=True)
class RepeatDocument(Described):
    """Where the same figure is expected when it is measured again later on the same machine."""

    low: float
    """Lower end of the interval."""
    high: float
    """Upper end of the interval."""
    level: Share
    """How often such intervals hold what the machine gives on average."""
    runs: Count
    """Earlier runs of the same cell that it rests on; with 0, the spread of this run's sessions
    stands in for what runs differ by."""

    @classmethod
    def of(cls, repeat: Repeat, scale: float) -> RepeatDocument:
        low, high = repeat.low * scale, repeat.high * scale
        return cls(low=low, high=high, level=repeat.level, runs=repeat.runs)


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure(Described):
    """A number, and the interval that covers the truth of this run at `level`."""

    value: float | None
    """Null when too little was measured to know it: see `needs`."""
    low: float | None = None
    """Lower end of the interval; null when there is none."""
    high: float | None = None
    """Upper end of the interval."""
    level: Share | None = None
    """At least 0.95; more where the data chose the moment to stop. Lower only where too few samples
    were taken to support it."""
    of: Literal["sessions", "samples", "pairs", "processes", "repeats"] | None = None
    """What the interval is over. One over samples says nothing about what differs between
    sessions."""
    n: Count | None = None
    """How many of them there were."""
    needs: Size | None = None
    """When `value` is null: about how many samples would give one."""
    repeat: RepeatDocument | None = None
    """The interval to expect when it is measured again later on the same machine; null where too
    little is known, or where nobody would repeat it."""

    @classmethod
    def of_estimate(cls, estimate: Estimate, scale: float = 1.0) -> Figure:
        """Of a single unit there is no interval. ``scale`` 1e3 makes milliseconds of seconds."""
        if estimate.n < 2:
            return cls(value=estimate.value * scale, of=estimate.units, n=estimate.n)
        return cls(
            value=estimate.value * scale,
            low=estimate.low * scale,
            high=estimate.high * scale,
            level=estimate.level,
            of=estimate.units,
            n=estimate.n,
            repeat=RepeatDocument.of(estimate.repeat, scale) if estimate.repeat else None,
        )

    @classmethod
    def of_span(cls, value_s: float, span_s: tuple[float, float] | None, repeats: int) -> Figure:
        """Milliseconds, with the 95 % interval over the repeats of a profile."""
        low_s, high_s = span_s or (None, None)
        return cls(
            value=value_s * 1e3,
            low=to_milliseconds(low_s),
            high=to_milliseconds(high_s),
            level=0.95 if span_s else None,
            of="repeats",
            n=repeats,
        )

    @classmethod
    def of_tail(cls, tail: Tail, samples: int, scale: float = 1.0) -> Figure:
        value, low, high = (
            None if number is None else number * scale
            for number in (tail.value, tail.low, tail.high)
        )
        return cls(
            value=value,
            low=low,
            high=high,
            level=None if low is None or high is None else 0.95,
            of="samples",
            n=samples,
            needs=tail.samples_needed if value is None else None,
        )


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
        return cls(
            typical=Figure.of_estimate(latency.typical, 1e3),
            floor=Figure.of_estimate(latency.floor, 1e3),
            mean=latency.mean_s * 1e3,
            stdev=to_milliseconds(latency.stdev_s),
            min=latency.min_s * 1e3,
            max=latency.largest_s * 1e3,
            p90=Figure.of_tail(latency.p90, samples, 1e3),
            p95=Figure.of_tail(latency.p95, samples, 1e3),
            p99=Figure.of_tail(latency.p99, samples, 1e3),
            outlier_share=latency.outlier_share,
        )


# Of a field: milliseconds, per second, bytes, a whole number, a share, anything else.
Format = Literal["time", "rate", "bytes", "count", "share", "amount"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureColumn:
    """As in ``Annotated[int | None, FigureColumn(…)]``. Every such field is a column of CSV."""

    head: str  # in tables of text
    label: str  # on the page
    format: Format
    unit: str = ""  # unless the format implies it
    in_tables: bool = True  # of text, if any cell has it …
    has_place: bool = False  # … or always, in a place of its own
    # Lists of the page show or offer it, from SummaryDocument.
    in_lists: Literal["always", "wanted", "never"] = "wanted"
    is_among_first: bool = False  # in lists, right after latency; others come last
    on_card: bool = True  # of a cell, and where two cells are compared

    def text(self, figure: float | Figure | None, scale: float) -> str:
        """For a table whose times are in units of ``scale`` seconds."""
        number = plain_value(figure)
        if number is None:
            return figures.NOTHING
        match self.format:
            case "time":
                return figures.plain(number / 1e3 / scale)
            case "bytes":
                return figures.size(int(number))
            case "count":
                return figures.spaced(number, 0)
            case "share":
                return figures.percent(number)
            case "rate" | "amount":
                return figures.plain(number)


def plain_value(figure: float | Figure | None) -> float | None:
    """Without its interval."""
    return figure.value if isinstance(figure, Figure) else figure


@cache
def figure_columns(document: type[Any]) -> Mapping[str, FigureColumn]:
    """The columns that a document describes, by name of their field, in order."""
    annotations = get_type_hints(document, include_extras=True)
    described = {
        field.name: [
            part for part in get_args(annotations[field.name]) if isinstance(part, FigureColumn)
        ]
        for field in fields(document)
    }
    return MappingProxyType({name: columns[0] for name, columns in described.items() if columns})


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
