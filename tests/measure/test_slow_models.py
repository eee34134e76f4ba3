"""Sessions of slow models are shortened to their time; those of quick ones stay as they are."""

from dataclasses import replace

import pytest

from modeldyno.core.sessions import Calibration, PairPlan, SessionPlan
from modeldyno.measure.loop import (
    SHARE_OF_OPENING,
    Clocks,
    Opening,
    TimedSide,
    fit_pair,
    fit_session,
    measure_pair,
    measure_session,
)

QUICK = SessionPlan(min_time_s=0.1, max_time_s=0.8, warmup_limit_s=0.4)


class SlowModel:
    """Each call takes as long as it says; nothing else takes time."""

    def __init__(self, call_s: float) -> None:
        self.call_s = call_s
        self.now_ns = 0
        self.calls = 0
        self.clocks = Clocks(
            wall=lambda: self.now_ns,
            thread_cpu=lambda: self.now_ns,
            process_cpu=lambda: self.now_ns,
            switches=lambda: 0,
            sleep=lambda _: None,
            counts=dict,
        )

    def call(self) -> None:
        self.now_ns += round(self.call_s * 1e9)
        self.calls += 1

    @property
    def now_s(self) -> float:
        return self.now_ns / 1e9


def session_s(call_s: float, load_s: float, plan: SessionPlan) -> tuple[float, int]:
    """How long a whole session takes, and how many samples it has."""
    model = SlowModel(call_s)
    model.now_ns = round(load_s * 1e9)
    model.call()
    fitted = fit_session(plan, model.call, Opening(load_s, call_s), model.clocks.wall)
    timed = measure_session(model.call, fitted, model.clocks)
    model.call()  # whose outputs are compared
    return model.now_s, len(timed.samples.wall_ns)


@pytest.mark.parametrize("call_s", [0.00005, 0.001, 0.005, 0.03, 0.06])
def test_a_session_with_time_for_everything_is_measured_as_usual(call_s):
    plan = replace(QUICK, time_s=10.0)
    opening = Opening(0.1, call_s)
    assert fit_session(plan, SlowModel(call_s).call, opening) == plan


@pytest.mark.parametrize("load_s", [0.05, 0.5, 1.0])
@pytest.mark.parametrize("call_s", [0.002, 0.01, 0.05, 0.1, 0.15])
def test_a_session_of_a_slow_model_ends_in_its_time(call_s, load_s):
    time_s = load_s + 1.0
    taken_s, samples = session_s(call_s, load_s, replace(QUICK, time_s=time_s))
    assert taken_s <= time_s + 2 * call_s
    assert samples >= 2


@pytest.mark.parametrize("call_s", [0.5, 2.0, 5.0])
def test_a_model_with_no_time_for_calls_is_called_four_times_and_has_a_number(call_s):
    """The first call, one to see how long it takes, one sample, and one for its outputs."""
    taken_s, samples = session_s(call_s, 0.0, replace(QUICK, time_s=0.5))
    assert samples == 1
    assert taken_s == pytest.approx(4 * call_s)


def test_a_slow_load_leaves_a_quarter_of_its_time_for_calls():
    taken_s, samples = session_s(0.001, 4.0, replace(QUICK, time_s=0.5))
    assert samples >= 60
    assert taken_s <= 4.0 * (1 + SHARE_OF_OPENING)


def test_a_first_call_that_compiles_is_not_taken_for_a_slow_model():
    model = SlowModel(0.001)
    plan = replace(QUICK, time_s=2.0)
    assert fit_session(plan, model.call, Opening(0.1, 30.0), model.clocks.wall) == plan
    assert model.calls == 1


def test_a_prescribed_number_of_calls_stays_as_it_is():
    exact = SessionPlan(iterations=7, warmup_calls=3, time_s=0.1)
    assert fit_session(exact, SlowModel(2.0).call, Opening(1.0, 2.0)) == exact
    warm = replace(QUICK, warmup_calls=4, time_s=0.1)
    assert fit_session(warm, SlowModel(2.0).call, Opening(1.0, 2.0)).warmup_calls == 4


# ---------------------------------------------------------------- pairs

PAIR = PairPlan(max_time_s=2.5)


def pair_s(calls_s: tuple[float, float], load_s: float, plan: PairPlan) -> tuple[float, int]:
    """How long a whole pair takes, and how many samples each side has."""
    shared = SlowModel(0.0)
    sides = []
    for call_s in calls_s:

        def call(call_s: float = call_s) -> None:
            shared.now_ns += round(call_s * 1e9)

        shared.now_ns += round(load_s * 1e9)
        call()
        sides.append(TimedSide(call, lambda: None))
    fitted = fit_pair(plan, (Opening(load_s, calls_s[0]), Opening(load_s, calls_s[1])))
    timed = measure_pair(sides[0], sides[1], fitted, shared.clocks)
    for side in sides:
        side.call()  # whose outputs are compared
    return shared.now_s, min(len(each.samples.wall_ns) for each in timed)


@pytest.mark.parametrize("calls_s", [(0.00005, 0.00005), (0.003, 0.004), (0.01, 0.01)])
def test_a_pair_with_time_for_everything_is_measured_as_usual(calls_s):
    plan = replace(PAIR, time_s=2.2)
    assert fit_pair(plan, (Opening(0.1, calls_s[0]), Opening(0.1, calls_s[1]))) == plan


@pytest.mark.parametrize("calls_s", [(0.03, 0.03), (0.06, 0.02), (0.1, 0.1)])
def test_a_pair_of_slow_models_ends_in_its_time(calls_s):
    taken_s, samples = pair_s(calls_s, 0.2, replace(PAIR, time_s=2.2))
    assert taken_s <= 2.2 + 4 * sum(calls_s)  # the last round is finished
    assert samples >= 2


def test_a_pair_without_time_for_calls_is_one_round_after_one_call_to_warm_up():
    known = (Calibration(2.0, 1, 0.0), Calibration(2.0, 1, 0.0))
    plan = replace(PAIR, time_s=0.5, calibrations=known)
    taken_s, samples = pair_s((2.0, 2.0), 0.0, plan)
    assert samples == 2
    assert taken_s == pytest.approx(2 * 2.0 * (1 + 1 + 4 + 1))
