"""Whether a machine is as fast as usual: made-up histories, and a clock that runs as told."""

from itertools import count

import numpy as np
import pytest

from modeldyno.core.results import MachineSpeed
from modeldyno.measure import loop
from modeldyno.measure.machine_speed import against_usual, slow_reason

USUAL_S = 100e-6
TWO_SPEEDS = 1.8  # seen on virtual CPUs


def is_slow(now_s, earlier_s):
    return against_usual(MachineSpeed(now_s), earlier_s).is_slow


def times_called_slow(sd, earlier):
    rng = np.random.default_rng(18)
    runs = USUAL_S * np.exp(rng.normal(0, sd, 5_000))
    return sum(is_slow(runs[n], runs[n - earlier : n]) for n in range(earlier, 5_000))


@pytest.mark.parametrize("earlier", [3, 12])
@pytest.mark.parametrize(("sd", "most"), [(0.005, 0), (0.02, 0), (0.03, 0), (0.05, 2)])
def test_ordinary_noise_is_not_called_slow(sd, most, earlier):
    assert times_called_slow(sd, earlier) <= most


def test_one_slow_run_of_the_past_changes_nothing():
    assert not is_slow(USUAL_S, [USUAL_S, 3 * USUAL_S, USUAL_S])
    assert not is_slow(USUAL_S, [USUAL_S, USUAL_S / 3, USUAL_S])


def test_the_slow_speed_of_two_is_noticed_every_time():
    rng = np.random.default_rng(19)
    for runs in (3, 12):
        noise = np.exp(rng.normal(0, 0.03, (1_000, runs + 1)))
        assert all(is_slow(TWO_SPEEDS * of[0], of[1:]) for of in (USUAL_S * noise).tolist())


def test_the_quick_speed_of_two_is_not_slow_and_the_slow_one_becomes_usual():
    assert not is_slow(USUAL_S / TWO_SPEEDS, [USUAL_S] * 12)
    assert not is_slow(TWO_SPEEDS * USUAL_S, [TWO_SPEEDS * USUAL_S] * 7 + [USUAL_S] * 5)


def test_too_few_earlier_runs_know_what_is_usual():
    speed = MachineSpeed(10 * USUAL_S)
    assert against_usual(speed, [USUAL_S] * 2) == speed
    assert slow_reason(speed) == slow_reason(None) == ""


def test_the_latest_twelve_runs_decide():
    speed = against_usual(MachineSpeed(USUAL_S), [2 * USUAL_S] * 12 + [USUAL_S] * 100)
    assert (speed.share, speed.runs) == (2, 12)


def test_the_reason_says_how_slow_in_words():
    speed = against_usual(MachineSpeed(TWO_SPEEDS * USUAL_S), [USUAL_S] * 5)
    assert slow_reason(speed) == (
        "This machine runs at 56 % of its usual speed: a fixed piece of work took 1.8 × as long "
        "as in its last 5 runs."
    )


@pytest.mark.parametrize(("slower", "noticed"), [(1.0, False), (1.1, False), (TWO_SPEEDS, True)])
def test_the_work_that_sessions_time_shows_the_speed_of_the_clock(slower, noticed):
    """On virtual time: each look at the clock is one step later."""
    steps_ns = 100_000, round(slower * 100_000)
    usual_s, now_s = (loop.canary(count(0, step).__next__) for step in steps_ns)
    assert is_slow(now_s, [usual_s] * 12) is noticed
