"""What the database keeps of a result: the figures, and how sure they are."""

import pytest

from modeldyno.core.hosts import HostWeather
from modeldyno.core.results import CellResult
from modeldyno.core.sessions import Calibration, Memory, Samples, Session, SessionFacts, WarmUp
from modeldyno.core.specs import CellSpec
from modeldyno.core.summaries import outcome_of
from modeldyno.measure.benchmark import MeasuredSession, summarise

CALM = HostWeather(None, 0.0, 0.0, None)


def measured(*latencies_ms):
    """A cell of one session for each latency, with batches of two."""
    units = []
    for latency_ms in latencies_ms:
        wall = (int(latency_ms * 1e6),) * 50
        session = Session(
            load_s=0.1,
            first_call_s=0.1,
            calibration=Calibration(latency_ms / 1e3, 1, 0.0),
            warmup=WarmUp(25, 0.1, steady=True),
            samples=Samples(wall, (), 1, sum(wall), sum(wall), sum(wall), 0),
            facts=SessionFacts("scripted", "1", "cpu", (), 1, None, {}),
            memory=Memory(10, 20, 30),
        )
        units.append(MeasuredSession(0, session))
    found = summarise(units, 2, "budget", CALM)
    spec = CellSpec(engine="scripted", batch_size=2)
    return outcome_of(0, CellResult("m", spec, "done", 2, measurement=found))


def test_four_sessions_have_an_interval_around_every_figure():
    found = measured(1.0, 1.1, 0.9, 1.0)
    assert found.typical_low_s < found.typical_s < found.typical_high_s
    assert found.floor_low_s < found.floor_s < found.floor_high_s
    assert found.throughput_low_per_s <= found.throughput_per_s <= found.throughput_high_per_s
    assert found.throughput_per_s == pytest.approx(2 / 0.001)
    assert (found.sessions, found.samples, found.interval_level) == (4, 200, 0.95)
    assert found.peak_memory_bytes == 20
    assert found.noise_reasons


def test_three_sessions_have_figures_and_no_interval():
    found = measured(1.0, 1.1, 0.9)
    assert found.typical_s == pytest.approx(0.001)
    assert (found.typical_low_s, found.floor_high_s, found.throughput_low_per_s) == (None,) * 3
    assert (found.sessions, found.interval_level) == (3, None)
