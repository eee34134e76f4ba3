"""The ratio while a comparison is under way, for its progress line."""

from __future__ import annotations

from collections.abc import Callable
from math import log

from modeldyno.core.results import Estimate, Statistic
from modeldyno.core.sessions import Pair
from modeldyno.measure import statistics
from modeldyno.measure.compare import LEVEL, PairUnit, choose_statistic, log_ratio


class RatioSoFar:
    """Looks at every pair's samples once, however often it is asked: a thorough comparison has
    hundreds of pairs, and the machine should not be busy with old ones while it measures."""

    def __init__(
        self,
        units: list[PairUnit],
        items: tuple[int, int],
        of_pair: Callable[[Pair, Statistic], float] = log_ratio,
    ) -> None:
        self._units = units  # shared with the job, which adds to it
        self._scale = log(items[0] / items[1])
        self._of_pair = of_pair
        self._known: dict[Statistic, list[float]] = {}

    def estimate(self) -> Estimate | None:
        """time(B) / time(A) per item; nothing before there are two pairs."""
        if len(self._units) < 2:
            return None
        statistic = choose_statistic(self._units)
        known = self._known.setdefault(statistic, [])
        known += [
            self._scale + self._of_pair(unit.pair, statistic) for unit in self._units[len(known) :]
        ]
        return statistics.exp_estimate(statistics.mean_t(known, LEVEL, "pairs"))
