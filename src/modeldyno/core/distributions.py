"""The samples of one cell, ready to be drawn: in order, in bins, and by percentiles."""

from __future__ import annotations

from dataclasses import dataclass

from modeldyno.core.results import Tail


@dataclass(frozen=True)
class Point:
    """One sample: seconds per call."""

    session: int  # from 0, in the order in which they were measured
    sample: int  # within its session
    seconds: float


@dataclass(frozen=True)
class Distribution:
    samples: int
    sessions: int
    points: tuple[Point, ...]  # evenly chosen where there are more than are wanted
    edges_s: tuple[float, ...]  # of bins, one more than there are counts
    counts: tuple[int, ...]
    above: int  # samples beyond the last edge
    mean_s: float
    min_s: float
    max_s: float
    percentiles: tuple[Tail, ...]
