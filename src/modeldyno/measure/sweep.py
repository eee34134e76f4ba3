"""Which of many cells is fastest, and which cannot be distinguished from it.

Every round visits every cell once, so two cells are compared over the rounds they share: the
machine affected both in the same way. Dropping slow cells early, naming a winner and declaring a
tie are all based on these pairs (docs/measuring.md, sweeps).
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
OUTRACED = 0.05  # a cell that is clearly slower than the leader by more than this is dropped
LEVEL = 0.95
CANARY_MOVED = 0.03


def rank_cells(cells: Mapping[int, Figures], level: float = LEVEL) -> Standing | None:
    """The leader and its ties: a cell is behind only if Holm's method rejects that it is equal."""
    running = {number: figures for number, figures in cells.items() if figures}
    if not running:
        return None
    leader = _find_leader(running)
    p_values = {
        number: _p_value(running[leader], figures)
        for number, figures in running.items()
        if number != leader
    }
    behind = holm_rejections(p_values, 1 - level)
    return Standing(leader, tuple(sorted(n for n in running if n not in behind)))


def outraced_cells(cells: Mapping[int, Figures]) -> set[int]:
    """Cells whose whole paired interval lies more than 5 % above the leader's."""
    running = {n: f for n, f in cells.items() if len(f) >= ROUNDS_BEFORE_RACING}
    if len(running) < 2:
        return set()
    leader = running[_find_leader(running)]
    return {
        number
        for number, figures in running.items()
        if figures is not leader and _lower_bound(leader, figures) > log(1 + OUTRACED)
    }


def holm_rejections(p_values: Mapping[int, float], error: float) -> set[int]:
    """The hypotheses that Holm's method rejects at a family-wise error rate of ``error``."""
    rejected: set[int] = set()
    ranked = sorted(p_values, key=lambda number: p_values[number])
    for rank, number in enumerate(ranked):
        if p_values[number] > error / (len(ranked) - rank):
            break
        rejected.add(number)
    return rejected


def canary_moved(history: Sequence[Mapping[int, float]], latest: Mapping[int, float]) -> bool:
    """Whether the machine itself changed in the latest round, judged by a fixed kernel.

    Each mapping holds the kernel's floor by cell; a cell is compared with its own past.
    """
    changes = []
    for number, floor in latest.items():
        past = [earlier[number] for earlier in history if number in earlier]
        if past:
            changes.append(floor / median(past))
    return bool(changes) and abs(median(changes) - 1) > CANARY_MOVED


def _find_leader(cells: Mapping[int, Figures]) -> int:
    """The cell with the lowest mean logarithm over shared rounds or, if there are none, its own."""
    shared = set.intersection(*(set(figures) for figures in cells.values()))
    return min(cells, key=lambda number: _mean_log(cells[number], shared))


def _mean_log(figures: Figures, rounds: set[int]) -> float:
    in_rounds = [figure for number, figure in figures.items() if number in rounds]
    return fmean(log(figure) for figure in in_rounds or figures.values())


def _log_ratios(a: Figures, b: Figures) -> list[float]:
    return [log(b[number] / a[number]) for number in sorted(a.keys() & b.keys())]


def _p_value(leader: Figures, other: Figures) -> float:
    """How often chance puts two equal cells this far apart; 1 if there are too few rounds."""
    ratios = _log_ratios(leader, other)
    if len(ratios) < 2:
        return 1.0
    spread = stdev(ratios)
    mean = fmean(ratios)
    if spread == 0:
        return 1.0 if mean == 0 else 0.0
    return two_sided_p(mean / (spread / sqrt(len(ratios))), len(ratios) - 1)


def _lower_bound(leader: Figures, other: Figures) -> float:
    ratios = _log_ratios(leader, other)
    return mean_t(ratios, LEVEL, "sessions").low if len(ratios) > 1 else -inf
