"""What the world sees of a cell: the figures, and how sure they are."""

import itertools
from typing import Any

import pytest

from modeldyno.core.documents.cells import CellDocument
from modeldyno.core.documents.runnables import SummaryDocument
from modeldyno.core.hosts import HostWeather
from modeldyno.core.results import CellResult
from modeldyno.core.sessions import Calibration, Memory, Samples, Session, SessionFacts, WarmUp
from modeldyno.core.specs import CellSpec
from modeldyno.measure.benchmark import MeasuredSession, summarise
from modeldyno.measure.loop import Block, Clocks
from modeldyno.store.documents import cell_to_columns

CALM = HostWeather(None, 0.0, 0.0, None)


def measured(*latencies_ms, samples=None):
    """A cell of one session for each latency, with batches of two."""
    units = []
    for latency_ms in latencies_ms:
        wall = (int(latency_ms * 1e6),) * 50
        session = Session(
            load_s=0.1,
            first_call_s=0.1,
            calibration=Calibration(latency_ms / 1e3, 1, 0.0),
            warmup=WarmUp(25, 0.1, steady=True),
            samples=samples or Samples(wall, (), 1, sum(wall), sum(wall), sum(wall), 0),
            facts=SessionFacts("scripted", "1", "cpu", (), 1, None, {}),
            memory=Memory(10, 20, 30),
        )
        units.append(MeasuredSession(0, session))
    found = summarise(units, 2, "budget", CALM)
    spec = CellSpec(engine="scripted", batch_size=2)
    document: Any = CellDocument.of(0, CellResult("m", spec, "done", 2, measurement=found))
    return document


def test_four_sessions_have_an_interval_around_every_figure():
    cell = measured(1.0, 1.1, 0.9, 1.0)
    for figure in (cell.latency_ms.typical, cell.latency_ms.floor):
        assert figure.low < figure.value < figure.high
        assert (figure.of, figure.n, figure.level) == ("sessions", 4, 0.95)
    rate = cell.throughput_per_s
    assert rate.low <= rate.value <= rate.high
    assert rate.value == pytest.approx(2 / 0.001)
    assert (cell.sessions, cell.samples, cell.interval_note) == (4, 200, None)
    assert cell.peak_memory_bytes == 20
    assert cell.noise_reasons
    columns = cell_to_columns(cell, {})
    assert columns["floor_low_s"] == pytest.approx(cell.latency_ms.floor.low / 1e3)
    assert (columns["interval_level"], columns["sessions"]) == (0.95, 4)


def test_three_sessions_have_figures_and_no_interval():
    cell = measured(1.0, 1.1, 0.9)
    columns = cell_to_columns(cell, {})
    assert columns["typical_s"] == pytest.approx(0.001)
    ends = ("floor_low_s", "floor_high_s", "throughput_low_per_s", "interval_level")
    assert [columns[name] for name in ends] == [None] * 4
    assert (cell.sessions, cell.interval_note) == (3, "3 sessions; an interval needs 4")
    summary: Any = SummaryDocument.of_cell(cell)
    for figure in (summary.latency_ms.typical, summary.latency_ms.floor):
        assert (figure.low, figure.high) == (None, None)


def test_page_faults_are_counted_per_call_where_the_kernel_counts_them():
    assert measured(1.0).page_faults is None
    block = Block(lambda: None, Calibration(1e-3, 2, 0.0), faulting_clocks())
    block.read(10)
    samples = block.samples()
    assert samples.counts == {"minor_faults": 60, "major_faults": 3}
    assert measured(1.0, samples=samples).page_faults == (60 + 3) / 20


def faulting_clocks() -> Clocks:
    """Between two looks at them there are 60 minor faults and 3 major ones."""
    counts = iter(
        [{"minor_faults": 40, "major_faults": 1}, {"minor_faults": 100, "major_faults": 4}]
    )
    moments = itertools.count(0, 1000)
    return Clocks(*(lambda: next(moments),) * 3, lambda: 0, counts=lambda: next(counts))
