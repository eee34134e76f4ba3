"""The scripted engine: latencies to order, and the contract of every engine."""

import time

import numpy as np
import pytest

from modeldyno.core.errors import EngineFailed
from modeldyno.core.sessions import SessionFacts
from modeldyno.engines.scripted import Scripted
from tests.contracts.engine_contract import EngineContract
from tests.scripts import fault, script, target


class TestContract(EngineContract):
    engine = Scripted()

    @pytest.fixture
    def target(self, tmp_path):
        return target(script(tmp_path / "m.json"))


@pytest.fixture
def opened(tmp_path):
    """Opens a session of a script with these fields."""

    def open_script(**fields):
        path = script(tmp_path / "m.json", **fields)
        session = Scripted().open(target(path))
        return session.__enter__()

    return open_script


def timed(call) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def test_a_call_takes_at_least_as_long_as_the_script_says(opened):
    call = opened(latency_us=2000).bind({}, "api")
    assert min(timed(call) for _ in range(5)) >= 2e-3


def test_latencies_repeat_after_the_first_ones(opened):
    call = opened(latency_us=[1000, 3000], first_us=[5000]).bind({}, "api")
    expected_s = (5e-3, 1e-3, 3e-3, 1e-3)
    measured_s = [timed(call) for _ in expected_s]
    assert all(took >= least for took, least in zip(measured_s, expected_s, strict=True))


def test_work_may_be_counted_in_rounds_instead_of_time(opened):
    assert opened(work=1001).bind({}, "api")() == 1
    assert opened(work=1000).bind({}, "api")() == 0


def test_the_script_may_claim_another_precision(opened):
    assert opened(precision="int8").facts == SessionFacts(
        "scripted", "1", "cpu", ("script",), 1, None, {}, "int8"
    )


def test_a_fault_waits_for_its_call(opened):
    call = opened(faults=[fault("raise", call=2)]).bind({}, "api")
    call()
    call()
    with pytest.raises(EngineFailed):
        call()
    call()


def test_a_fault_may_hit_one_batch_only(opened):
    session = opened(faults=[fault("raise", batch=2)])
    session.bind({"x": np.ones((1, 4))}, "api")()
    with pytest.raises(EngineFailed):
        session.bind({"x": np.ones((2, 4))}, "api")()


def test_a_fault_of_loading_comes_before_the_session(tmp_path):
    with pytest.raises(EngineFailed):
        Scripted().open(
            target(script(tmp_path / "m.json", faults=[fault("raise", call=-1)]))
        ).__enter__()
