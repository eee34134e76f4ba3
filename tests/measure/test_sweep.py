"""Ranking cells by the rounds they share."""

from __future__ import annotations

import numpy as np
import pytest

from modeldyno.core.results import Standing
from modeldyno.measure.sweep import canary_moved, holm_rejections, outraced_cells, rank_cells
from modeldyno.selftest.fairness import run


def figures(level, rounds=12, seed=0, spread=0.01):
    """A cell's figure in each round; rounds share a wobble that hits all cells alike."""
    wobble = np.random.default_rng(99).normal(0, 0.2, rounds)
    own = np.random.default_rng(seed).normal(0, spread, rounds)
    return {i: level * float(np.exp(wobble[i] + own[i])) for i in range(rounds)}


def test_a_clearly_faster_cell_wins_although_the_machine_wobbles():
    cells = {0: figures(1.0, seed=1), 1: figures(1.05, seed=2), 2: figures(1.2, seed=3)}
    assert rank_cells(cells) == Standing(leader=0, tied=(0,))


def test_cells_that_cannot_be_distinguished_are_a_tie():
    cells = {0: figures(1.0, seed=1), 1: figures(1.001, seed=2), 2: figures(1.2, seed=3)}
    ranking = rank_cells(cells)
    assert ranking is not None
    assert ranking.tied == (0, 1)
    assert not ranking.has_winner


def test_a_cell_without_numbers_takes_no_part():
    assert rank_cells({0: {}, 1: figures(1.0)}) == Standing(leader=1, tied=(1,))
    assert rank_cells({0: {}}) is None


def test_one_shared_round_proves_nothing():
    assert rank_cells({0: {0: 1.0}, 1: {0: 2.0}}) == Standing(leader=0, tied=(0, 1))


def test_only_clearly_slower_cells_leave_the_race():
    cells = {0: figures(1.0, seed=1), 1: figures(1.03, seed=2), 2: figures(1.2, seed=3)}
    assert outraced_cells(cells) == {2}


def test_no_cell_is_dropped_before_the_eighth_round():
    assert outraced_cells({0: figures(1.0, rounds=7), 1: figures(2.0, rounds=7)}) == set()


def test_holm_stops_at_the_first_claim_that_fails():
    assert holm_rejections({1: 0.01, 2: 0.02, 3: 0.04, 4: 0.3}, 0.05) == {1}
    assert holm_rejections({1: 0.001, 2: 0.002, 3: 0.02}, 0.05) == {1, 2, 3}


@pytest.mark.parametrize(("factor", "moved"), [(1.0, False), (1.02, False), (1.05, True)])
def test_the_canary_reveals_a_machine_that_changed(factor, moved):
    history = [{0: 1.0, 1: 2.0}, {0: 1.001, 1: 2.002}]
    assert canary_moved(history, {0: factor, 1: 2 * factor}) is moved


def test_a_drifting_machine_does_not_choose_the_winner():
    outcome = run()
    assert outcome.passed, outcome.to_json()
