"""Which of many cells is best, and which are merely not told apart.

Every round visits every cell once, so two cells are compared by the rounds they share: whatever
the machine did in a round, it did to both. Leaving the race early, naming a winner and admitting
a tie all rest on these pairs (docs/measuring.md, sweeps).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf, log, sqrt
from statistics import fmean, median, stdev

from modeldyno.core.results import Standing
from modeldyno.measure.statistics import mean_t
from modeldyno.measure.student import two_sided_p

Figures = Mapping[int, float]  # one cell's figure by round: seconds per call, or per item

ROUNDS_BEFORE_RACING = 8
OUTRACED = 0.05  # slower than the leader by clearly more than this: no more rounds for it
LEVEL = 0.95
CANARY_MOVED = 0.03


def standing(cells: Mapping[int, Figures], level: float = LEVEL) -> Standing | None:
    """Who leads; the others are behind only where Holm's correction over all claims allows it."""
    running = {number: figures for number, figures in cells.items() if figures}
    if not running:
        return None
    leader = _leader(running)
    chances = {
        number: _chance(running[leader], figures)
        for number, figures in running.items()
        if number != leader
    }
    behind = holm(chances, 1 - level)
    return Standing(leader, tuple(sorted(n for n in running if n not in behind)))


def outraced(cells: Mapping[int, Figures]) -> set[int]:
    """Cells whose whole paired interval lies more than 5 % above the leader's."""
    running = {n: f for n, f in cells.items() if len(f) >= ROUNDS_BEFORE_RACING}
    if len(running) < 2:
        return set()
    leader = running[_leader(running)]
    return {
        number
        for number, figures in running.items()
        if figures is not leader and _lower_bound(leader, figures) > log(1 + OUTRACED)
    }


def holm(chances: Mapping[int, float], error: float) -> set[int]:
    """The claims that stand when all of them together may be wrong with chance ``error``."""
    stand: set[int] = set()
    ranked = sorted(chances, key=lambda number: chances[number])
    for place, number in enumerate(ranked):
        if chances[number] > error / (len(ranked) - place):
            break
        stand.add(number)
    return stand


def canary_moved(history: Sequence[Mapping[int, float]], latest: Mapping[int, float]) -> bool:
    """Whether the machine itself changed in the latest round, told by a kernel that cannot.

    Each maps a cell to its canary's floor; a cell is compared with its own past.
    """
    changes = []
    for number, floor in latest.items():
        past = [earlier[number] for earlier in history if number in earlier]
        if past:
            changes.append(floor / median(past))
    return bool(changes) and abs(median(changes) - 1) > CANARY_MOVED


def _leader(cells: Mapping[int, Figures]) -> int:
    """The lowest mean logarithm over the rounds that all cells share, or else over their own."""
    shared = set.intersection(*(set(figures) for figures in cells.values()))
    return min(cells, key=lambda number: _mean_log(cells[number], shared))


def _mean_log(figures: Figures, rounds: set[int]) -> float:
    chosen = [value for number, value in figures.items() if number in rounds]
    return fmean(log(value) for value in chosen or figures.values())


def _ratios(a: Figures, b: Figures) -> list[float]:
    return [log(b[number] / a[number]) for number in sorted(a.keys() & b.keys())]


def _chance(leader: Figures, other: Figures) -> float:
    """How often chance alone puts two equal cells this far apart; 1 when nothing can be said."""
    ratios = _ratios(leader, other)
    if len(ratios) < 2:
        return 1.0
    spread = stdev(ratios)
    mean = fmean(ratios)
    if spread == 0:
        return 1.0 if mean == 0 else 0.0
    return two_sided_p(mean / (spread / sqrt(len(ratios))), len(ratios) - 1)


def _lower_bound(leader: Figures, other: Figures) -> float:
    ratios = _ratios(leader, other)
    return mean_t(ratios, LEVEL, "sessions").low if len(ratios) > 1 else -inf
