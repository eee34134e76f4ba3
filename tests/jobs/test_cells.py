"""How far a cell has come: its sessions' figures."""

import numpy as np
import pytest

from modeldyno.core.results import Standing
from modeldyno.core.sessions import Calibration, Samples, Session, SessionFacts, WarmUp
from modeldyno.core.specs import DEFAULT, BenchmarkSpec, CellSpec, ModelSpec
from modeldyno.jobs.cells import Cell, MeasuredUnit
from modeldyno.jobs.rounds import Rounds, cell_progress
from modeldyno.measure.stopping import choose_stop_reason


class Timings(tuple[int, ...]):
    """Knows how often they were made an array, which is how quantiles begin."""

    read = 0

    def __array__(self, dtype=None, copy=None):
        self.read += 1
        return np.array([*self], dtype=dtype)


def measured(number: int, timings: Timings) -> MeasuredUnit:
    facts = SessionFacts("scripted", "1", "cpu", (), 1, None, {})
    samples = Samples(timings, (), 2, sum(timings), sum(timings), sum(timings), 0)
    calibration, warmup = Calibration(1e-3, 2, 0.0), WarmUp(10, 0.1, True)
    return MeasuredUnit(number, number, Session(0.1, 0.1, calibration, warmup, samples, facts))


@pytest.fixture
def timings():
    random = np.random.default_rng(7)
    return [Timings(int(x) for x in random.integers(1_000_000, 2_000_000, 101)) for _ in range(4)]


def test_each_session_is_sorted_once_however_many_follow(timings):
    cell = Cell(0, CellSpec())
    for number, taken in enumerate(timings):
        cell.units.append(measured(number, taken))
        cell_progress(cell)
        cell.floors()
        choose_stop_reason(
            [u.floor_s for u in cell.units], [u.typical_s for u in cell.units], DEFAULT, 0.0
        )
    assert [taken.read for taken in timings] == [1, 1, 1, 1]


def test_figures_of_a_session_are_seconds_per_call(timings):
    cell = Cell(0, CellSpec(), units=[measured(n, taken) for n, taken in enumerate(timings)])
    calls_s = [np.array([*taken]) / 1e9 / 2 for taken in timings]
    assert cell.floors() == pytest.approx({n: np.quantile(s, 0.1) for n, s in enumerate(calls_s)})
    assert [u.typical_s for u in cell.units] == pytest.approx([np.median(s) for s in calls_s])
    assert cell.seconds_per_item() == pytest.approx({n: s.mean() for n, s in enumerate(calls_s)})


def test_a_long_sequence_loses_no_race_against_a_short_one():
    """Within each size, the second cell is clearly slower; nothing is said across sizes."""
    levels = {0: 1.0, 1: 2.0, 2: 10.0, 3: 20.0}
    specs = [CellSpec(cores=cores, dims={"seq": seq}) for seq in (64, 640) for cores in (1, 2)]
    random = np.random.default_rng(3)
    cells = [Cell(number, spec) for number, spec in enumerate(specs)]
    for cell in cells:
        for number in range(12):
            noise = random.integers(1_000_000, 1_010_000, 101) * levels[cell.number]
            cell.units.append(measured(number, Timings(map(int, noise))))
    rounds = Rounds(BenchmarkSpec(ModelSpec("m"), tuple(specs)), cells, None)  # type: ignore[arg-type]
    rounds._stop_outraced_cells()
    assert [cell.stop_reason for cell in cells] == [None, "outraced", None, "outraced"]
    assert [each["latency"] for each in rounds._rank_workloads()] == [
        Standing(0, (0,)),
        Standing(2, (2,)),
    ]
