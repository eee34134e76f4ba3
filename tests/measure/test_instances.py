"""The throughput of several instances counts only the window they share."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from modeldyno.core.documents.cells import SideBySideDocument
from modeldyno.core.errors import RunFailed
from modeldyno.core.hosts import HostWeather
from modeldyno.core.sessions import (
    Calibration,
    Memory,
    Parity,
    Samples,
    Session,
    SessionFacts,
    Together,
    WarmUp,
)
from modeldyno.measure.benchmark import MeasuredSession, cores_used, seconds_per_call, summarise
from modeldyno.measure.instances import calls_within, common_window
from modeldyno.measure.instances import join_instances as _join_instances
from modeldyno.measure.instances import side_by_side as _side_by_side
from modeldyno.measure.trend import has_level_moved

MS = 1_000_000


def join_instances(*args: Any, **said: Any) -> Any:
    return _join_instances(*args, **said)


def side_by_side(*args: Any, **said: Any) -> Any:
    return _side_by_side(*args, **said)


def steady(start_ms, end_ms, every_ms=10, k=1, cpu_share=1.0):
    """Samples that follow each other without a pause."""
    ends = tuple(range((start_ms + every_ms) * MS, end_ms * MS + 1, every_ms * MS))
    wall = (every_ms * MS,) * len(ends)
    busy = round(cpu_share * sum(wall))
    return Samples(wall, (), k, sum(wall), busy, busy, 0, ends_ns=ends)


def session(**said):
    return Session(
        load_s=0.1,
        first_call_s=0.1,
        calibration=Calibration(0.01, 1, 0.0),
        warmup=WarmUp(25, 0.1, steady=said.pop("steady", True)),
        samples=steady(0, 10),
        facts=SessionFacts("scripted", "1", "cpu", (), 1, None, {}),
        memory=Memory(10, 20, 30),
        **said,
    )


def test_the_window_is_the_time_in_which_all_of_them_work():
    early, late = steady(0, 1000), steady(500, 1200)
    start, end = common_window([early, late])
    assert (start, end) == pytest.approx((534.5 * MS, 975.5 * MS))  # 510 to 1000 less 5 % each


def test_a_sample_at_the_edge_counts_in_part():
    assert calls_within(steady(0, 100, every_ms=20, k=5), (10 * MS, 90 * MS)) == pytest.approx(20)


def test_the_total_is_not_the_sum_of_own_rates():
    """The first is twice as quick until the second starts, as on a CPU that they share."""
    alone, shared = steady(0, 500, every_ms=5), steady(500, 1000, every_ms=10)
    first = Samples(
        alone.wall_ns + shared.wall_ns, (), 1, 1, 1, 1, 0, ends_ns=alone.ends_ns + shared.ends_ns
    )
    both = join_instances(
        [session(), session()], [first, steady(500, 1000, every_ms=10)], None, cpus=1
    )
    assert sum(both.together.calls) / both.together.window_s == pytest.approx(200)
    assert seconds_per_call(both) == pytest.approx(1 / 200)


def test_samples_outside_the_window_do_not_count_for_the_latency_either():
    slow, quick = steady(0, 500, every_ms=50), steady(500, 1500, every_ms=10)
    first = Samples(
        slow.wall_ns + quick.wall_ns, (), 1, 1, 1, 1, 0, ends_ns=slow.ends_ns + quick.ends_ns
    )
    both = join_instances([session(), session()], [first, steady(500, 1500)], None, cpus=2)
    assert set(both.samples.wall_ns) == {10 * MS}


def test_instances_are_added_up():
    merged = join_instances(
        [
            session(parity=Parity(0.0, 0.0, agrees=True)),
            session(steady=False, parity=Parity(1.0, 0.5, agrees=False)),
        ],
        [steady(0, 1000, cpu_share=0.5)] * 2,
        steady(0, 500, every_ms=5),
        cpus=2,
    )
    assert merged.memory == Memory(20, 40, 60)
    assert (merged.warmup.calls, merged.warmup.steady) == (50, False)
    assert not merged.parity.agrees
    assert merged.together.cpu_s_per_call == pytest.approx(0.005)
    assert merged.together.solo_calls_per_s == pytest.approx(200)
    assert cores_used([merged]) == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("windows", "words"),
    [([steady(0, 100), steady(0, 10)], "two calls"), ([steady(0, 90), steady(100, 200)], "same")],
)
def test_instances_that_never_met_have_no_total(windows, words):
    with pytest.raises(RunFailed, match=words):
        join_instances([session(), session()], windows, None, cpus=2)


def together(calls, solo=100.0, window_s=1.0, cpus=2):
    return session(together=Together(window_s, calls, solo, 0.01, cpus))


def test_the_figures_are_over_repetitions():
    sessions = [together((90.0, 100.0)), together((95.0, 100.0)), together((100.0, 100.0))]
    figures = side_by_side(sessions, batch_size=2, cores=1, reason="budget")
    assert figures.total_per_s.low < figures.total_per_s.value < figures.total_per_s.high
    assert figures.total_per_s.value == pytest.approx(390, abs=1)
    assert figures.scaling.value == pytest.approx(1.95, abs=0.01)
    assert figures.total_per_s.n == 3
    assert figures.fairness == pytest.approx(0.95)
    assert figures.items_per_cpu_s == pytest.approx(200)
    assert (figures.oversubscribed, figures.expected_contention) == (False, 1.0)


def test_more_threads_than_cpus_are_reported():
    figures = side_by_side([together((50.0,) * 4)], batch_size=1, cores=1, reason="fixed")
    assert (figures.oversubscribed, figures.expected_contention) == (True, 2.0)


def test_without_a_solo_run_there_is_no_scaling():
    assert side_by_side([together((1.0, 1.0), solo=0.0)], 1, 1, "fixed").scaling is None


def test_a_single_instance_has_no_such_figures():
    assert side_by_side([session()], 1, 1, "fixed") is None


def test_instances_of_unequal_speed_are_no_trend():
    """One after the other they would look like a machine that grew slower."""
    quick, slow = steady(0, 3000, every_ms=10), steady(0, 3000, every_ms=15)
    units = [join_instances([session(), session()], [quick, slow], None, cpus=2) for _ in range(6)]
    samples = [np.array(unit.samples.wall_ns, dtype=float) for unit in units]
    assert not has_level_moved(samples)
    assert has_level_moved([np.sort(session_samples) for session_samples in samples])


def test_one_repetition_has_no_interval():
    figures = side_by_side([together((1.0, 1.0))], 1, 1, "fixed")
    assert figures.total_per_s.n == 1
    document = SideBySideDocument.of(figures)
    assert document.scaling is not None
    assert (document.total_per_s.low, document.total_per_s.high) == (None, None)
    assert (document.scaling.low, document.scaling.high) == (None, None)


def threaded(wall_ms, cpu_ms, threads=2):
    """Fifty calls, as timed in a process with so many threads."""
    wall, busy = round(wall_ms * MS), round(cpu_ms * MS)
    base = session()
    samples = Samples((wall // 50,) * 50, (), 1, wall, wall, busy, 0)
    return replace(base, samples=samples, facts=replace(base.facts, threads=threads))


@pytest.mark.parametrize(
    ("measured", "cores", "used", "cpu_ms"),
    [
        (threaded(3, 12.9), 2, None, None),  # a tick charged it for earlier work
        (threaded(3, 0.2), 2, None, None),  # or came too late
        (threaded(3, 3, threads=1), 1, 1.0, 0.06),
        (threaded(200, 300), 2, 1.5, 6.0),
        (threaded(200, 405), 2, 2, 8.1),
        (threaded(200, 600), 2, 3.0, 12.0),  # more than allowed, and not because of ticks
    ],
)
def test_cpu_time_of_several_threads_is_told_when_ticks_no_longer_matter(
    measured, cores, used, cpu_ms
):
    measurement = summarise(
        [MeasuredSession(0, measured)], 1, "fixed", HostWeather(None, None, None, None), cores
    )
    assert measurement.cores_used == (used if used is None else pytest.approx(used))
    assert measurement.cpu_s == (cpu_ms if cpu_ms is None else pytest.approx(cpu_ms / 1e3))
