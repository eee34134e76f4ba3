"""Sides of about the same speed are timed in samples of as many calls, on a clock of our own."""

import pytest

from modeldyno.core.sessions import PairPlan
from modeldyno.measure.loop import Clocks, TimedSide, measure_pair


class Machine:
    """Time passes only inside calls."""

    def __init__(self):
        self.now_ns = 0

    def clock(self):
        return self.now_ns

    def side(self, call_us):
        def call():
            self.now_ns += round(call_us * 1000)

        return TimedSide(call, enter=lambda: None)


def samples_of(a_us, b_us):
    """Calls per sample on each side."""
    machine = Machine()
    clocks = Clocks(machine.clock, machine.clock, machine.clock, lambda: 0, lambda s: None)
    plan = PairPlan(min_time_s=0.002, min_samples=5)
    sides = measure_pair(machine.side(a_us), machine.side(b_us), plan, clocks)
    return tuple(side.samples.calls_per_sample for side in sides)


@pytest.mark.parametrize("slower", [1, 1.2, 1.8, 2])
def test_one_call_calibrated_at_the_machines_other_speed_gets_the_same_samples(slower):
    a, b = samples_of(10, 10 * slower)
    assert a == b
    assert samples_of(10 * slower, 10) == (a, b)


def test_calls_that_differ_more_get_samples_of_their_own():
    assert samples_of(5, 15) == (10, 4)


@pytest.mark.usefixtures("light_heap")
def test_the_slower_sides_samples_stay_short():
    for a_us in range(1, 100, 4):
        for slower in (1.3, 1.6, 2):
            calls = samples_of(a_us, a_us * slower)[1]
            assert calls == 1 or calls * a_us * slower <= 200
