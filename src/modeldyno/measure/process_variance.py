"""Whether pairs of the same process resemble each other, and what that does to an interval.

Pairs are the unit of statistics as long as it does not matter which process they ran in. If
processes themselves differ, the pairs of one process share its luck, and the mean is less certain
than the number of pairs suggests. The figures behind these rules are in
docs/decisions/0009-unit-of-a-ratio.md.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from math import fsum, sqrt

from modeldyno.core.results import Estimate
from modeldyno.measure.statistics import mean_t
from modeldyno.measure.student import half_interval, incomplete_beta

PROCESS_SHARE = 1 / 3  # more of the variance between processes than this makes them the unit …
SIGNIFICANT = 0.05  # … if it is unlikely by chance alone
FEWEST_PROCESSES = 3  # two do not show how much processes differ


@dataclass(frozen=True)
class ProcessVariance:
    """One-way random-effects analysis of variance, for groups of any size."""

    means: tuple[float, ...]  # one per process
    count: int  # of all values
    between: float  # mean square
    within: float  # mean square; 0 if every process has a single value
    per_process: float  # effective number of values per process

    @property
    def share(self) -> float:
        """The share of the variance that lies between processes, 0 to 1."""
        if len(self.means) < 2 or self.count == len(self.means):
            return 0.0  # nothing to separate
        component = max(0.0, (self.between - self.within) / self.per_process)
        return component / (component + self.within) if component else 0.0

    @property
    def p_value(self) -> float:
        """How often equal processes would seem to differ this much: the F test."""
        df_between, df_within = len(self.means) - 1, self.count - len(self.means)
        if not df_between or not df_within or not self.between:
            return 1.0
        within = df_within * self.within
        return incomplete_beta(
            df_within / 2, df_between / 2, within / (within + df_between * self.between)
        )


def analyse_variance(values: Sequence[float], processes: Sequence[Hashable]) -> ProcessVariance:
    """``processes`` holds the process of each value."""
    groups: dict[Hashable, list[float]] = {}
    for value, process in zip(values, processes, strict=True):
        groups.setdefault(process, []).append(value)
    n, count = len(values), len(groups)
    overall_mean = fsum(values) / n
    means = tuple(fsum(group) / len(group) for group in groups.values())
    between = fsum(
        len(g) * (mean - overall_mean) ** 2 for g, mean in zip(groups.values(), means, strict=True)
    )
    within = fsum(
        (value - mean) ** 2 for g, mean in zip(groups.values(), means, strict=True) for value in g
    )
    effective = n - sum(len(group) ** 2 for group in groups.values()) / n
    return ProcessVariance(
        means=means,
        count=n,
        between=between / (count - 1) if count > 1 else 0.0,
        within=within / (n - count) if n > count else 0.0,
        per_process=effective / (count - 1) if count > 1 else float(n),
    )


def estimate_mean(values: Sequence[float], variance: ProcessVariance, level: float) -> Estimate:
    """The mean with its interval: over pairs, or over processes if those differ too much."""
    if len(variance.means) < FEWEST_PROCESSES:
        return mean_t(values, level, "pairs")
    if variance.share > PROCESS_SHARE and variance.p_value < SIGNIFICANT:
        return mean_t(variance.means, level, "processes")
    return _widen_to_process_error(mean_t(values, level, "pairs"), variance)


def _widen_to_process_error(pairs: Estimate, variance: ProcessVariance) -> Estimate:
    """Make the interval at least as wide as the means of the processes suggest: a difference
    between processes may exist even if it cannot be proved yet."""
    error = sqrt(variance.between / variance.count)
    half = max(pairs.high - pairs.value, half_interval(pairs.level, pairs.n - 1) * error)
    return replace(pairs, low=pairs.value - half, high=pairs.value + half)
