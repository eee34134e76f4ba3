"""A number with its interval."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from modeldyno.core.documents.described import Count, Described, Share, Size
from modeldyno.core.results import Estimate, Repeat, Tail


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
        if span_s is None:
            return cls(value=value_s * 1e3, of="repeats", n=repeats)
        low_s, high_s = span_s
        return cls(
            value=value_s * 1e3,
            low=low_s * 1e3,
            high=high_s * 1e3,
            level=0.95,
            of="repeats",
            n=repeats,
        )

    @classmethod
    def of_tail(cls, tail: Tail, samples: int, scale: float = 1.0) -> Figure:
        if tail.value is None:
            return cls(value=None, of="samples", n=samples, needs=tail.samples_needed)
        has_interval = tail.low is not None and tail.high is not None
        return cls(
            value=tail.value * scale,
            low=tail.low * scale if tail.low is not None else None,
            high=tail.high * scale if tail.high is not None else None,
            level=0.95 if has_interval else None,
            of="samples",
            n=samples,
        )
