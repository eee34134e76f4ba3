"""T15: a machine that drifts must not choose the winner of a sweep.

Six identical cells on an engine that grows 10 % slower over the run. Rounds in random order see
the same drift on all of them; one cell after the other makes the first the winner.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np

from modeldyno.core.results import Standing
from modeldyno.measure.sweep import rank_cells
from modeldyno.selftest.outcome import Outcome

CELLS, ROUNDS = 6, 12
DRIFT = 0.10
SPREAD = 0.01  # between sessions of one file

Visit = tuple[int, int]  # cell, round


def run(sweeps: int = 20, seed: int = 15) -> Outcome:
    rng = np.random.default_rng(seed)
    fair = sum(not _simulate_sweep(_shuffled_rounds(rng), rng).has_winner for _ in range(sweeps))
    wrong = sum(
        _simulate_sweep(_visit_one_after_the_other(), rng).has_winner for _ in range(sweeps)
    )
    return Outcome(
        passed=fair >= 0.9 * sweeps and wrong >= 0.5 * sweeps,
        observed={"sweeps_without_winner": fair, "of": sweeps},
        threshold={"at_least": round(0.9 * sweeps)},
        control={"cell_after_cell_wrong_winners": wrong, "at_least": round(0.5 * sweeps)},
        seed=seed,
    )


def _shuffled_rounds(rng: np.random.Generator) -> Iterator[Visit]:
    for number in range(ROUNDS):
        for cell in rng.permutation(CELLS):
            yield int(cell), number


def _visit_one_after_the_other() -> Iterator[Visit]:
    yield from product(range(CELLS), range(ROUNDS))


def _simulate_sweep(visits: Iterator[Visit], rng: np.random.Generator) -> Standing:
    figures: dict[int, dict[int, float]] = {cell: {} for cell in range(CELLS)}
    for position, (cell, number) in enumerate(visits):
        drifted = 100e-6 * (1 + DRIFT * position / (CELLS * ROUNDS))
        figures[cell][number] = drifted * float(np.exp(rng.normal(0, SPREAD)))
    standing = rank_cells(figures)
    assert standing is not None
    return standing
