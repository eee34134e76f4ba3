"""Whether the pairs of one process resemble each other, and what that does to an interval.

Pairs are the unit of statistics as long as processes are only where they happened. When processes
differ by themselves, pairs of one process repeat the same luck, and the mean is known less well
than so many pairs suggest. The figures behind these rules: docs/decisions/0009-unit-of-a-ratio.md.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from math import fsum, sqrt

from modeldyno.core.results import Estimate
from modeldyno.measure.beta import incomplete_beta
from modeldyno.measure.statistics import mean_t
from modeldyno.measure.student import half_interval

TOO_MUCH_BETWEEN = 1 / 3  # share of the variance between processes that makes them the unit …
SIGNIFICANT = 0.05  # … if chance alone would not give as much
FEWEST_PROCESSES = 3  # two cannot tell how much processes differ


@dataclass(frozen=True)
class Spread:
    """One-way random-effects analysis of variance, for groups of any size."""

    means: tuple[float, ...]  # of each process
    count: int  # values in all
    between: float  # mean square
    within: float  # mean square; 0 when every process has one value
    per_process: float  # values in a process, as far as variances are concerned

    @property
    def share(self) -> float:
        """The share of the variance that sits between processes, 0 to 1."""
        if len(self.means) < 2 or self.count == len(self.means):
            return 0.0  # nothing to separate
        component = max(0.0, (self.between - self.within) / self.per_process)
        return component / (component + self.within) if component else 0.0

    @property
    def chance(self) -> float:
        """How often processes seem to differ this much although they do not: the F test."""
        more, rest = len(self.means) - 1, self.count - len(self.means)
        if not more or not rest or not self.between:
            return 1.0
        inner = rest * self.within
        return incomplete_beta(rest / 2, more / 2, inner / (inner + more * self.between))


def spread(values: Sequence[float], processes: Sequence[Hashable]) -> Spread:
    """``processes`` names the process of each value."""
    groups: dict[Hashable, list[float]] = {}
    for value, process in zip(values, processes, strict=True):
        groups.setdefault(process, []).append(value)
    n, count = len(values), len(groups)
    grand = fsum(values) / n
    means = tuple(fsum(group) / len(group) for group in groups.values())
    of_means = fsum(
        len(g) * (mean - grand) ** 2 for g, mean in zip(groups.values(), means, strict=True)
    )
    inside = fsum(
        (value - mean) ** 2 for g, mean in zip(groups.values(), means, strict=True) for value in g
    )
    even = n - sum(len(group) ** 2 for group in groups.values()) / n
    return Spread(
        means=means,
        count=n,
        between=of_means / (count - 1) if count > 1 else 0.0,
        within=inside / (n - count) if n > count else 0.0,
        per_process=even / (count - 1) if count > 1 else float(n),
    )


def estimate(values: Sequence[float], found: Spread, level: float) -> Estimate:
    """The mean with its interval: over pairs, unless processes differ so much that they must be."""
    if len(found.means) < FEWEST_PROCESSES:
        return mean_t(values, level, "pairs")
    if found.share > TOO_MUCH_BETWEEN and found.chance < SIGNIFICANT:
        return mean_t(found.means, level, "processes")
    return _at_least(mean_t(values, level, "pairs"), found)


def _at_least(pairs: Estimate, found: Spread) -> Estimate:
    """No narrower than the processes' own means allow: a difference that cannot be proved yet may
    be there all the same."""
    error = sqrt(found.between / found.count)
    half = max(pairs.high - pairs.value, half_interval(pairs.level, pairs.n - 1) * error)
    return replace(pairs, low=pairs.value - half, high=pairs.value + half)
