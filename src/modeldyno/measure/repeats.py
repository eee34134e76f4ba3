"""The interval to expect when a measurement is repeated later on the same machine.

Sessions of one run share the machine of those seconds. Between runs it changes (other memory
traffic, other neighbours), and no number of sessions in one run shows that. So runs are a second
level of random effects: what earlier runs of the same cell differ by, with a prior that runs differ
as sessions do (docs/measuring.md, repeats; docs/decisions/0029-repeat-interval.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, fsum, log, sqrt
from statistics import variance

from modeldyno.core.results import Estimate, Repeat
from modeldyno.measure.student import half_interval
from modeldyno.measure.verdicts import is_over_sessions, squared_error

MOST_RUNS = 12  # older ones say little about the machine of today
PRIOR_RUNS = 2  # what the prior weighs
LEVEL = 0.95


def repeat_of(figure: Estimate, earlier: Sequence[Estimate]) -> Repeat | None:
    """``earlier`` holds the same figure of earlier runs, the latest first. None if ``figure`` has
    too few sessions to know how they differ."""
    runs = [run for run in (figure, *earlier[:MOST_RUNS]) if is_over_sessions(run)]
    if not runs or runs[0] is not figure:
        return None
    errors = [squared_error(run) for run in runs]  # of each run's mean logarithm
    within = fsum(error * run.n for error, run in zip(errors, runs, strict=True)) / len(runs)
    known = len(runs) - 1
    between = 0.0
    if known:
        of_means = variance(log(run.value) for run in runs)
        between = max(0.0, of_means - fsum(errors) / len(runs))
    drift = (PRIOR_RUNS * within + known * between) / (PRIOR_RUNS + known)
    half = half_interval(LEVEL, PRIOR_RUNS + known) * sqrt(errors[0] + drift)
    return Repeat(figure.value * exp(-half), figure.value * exp(half), LEVEL, known)
