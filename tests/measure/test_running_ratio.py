"""The ratio on the progress line of a comparison."""

from collections import Counter
from dataclasses import replace

import pytest

from modeldyno.core.sessions import Calibration, Pair, Samples, Session, SessionFacts, WarmUp
from modeldyno.measure.compare import PairUnit, RunningRatio, choose_statistic, log_ratio

FACTS = SessionFacts("scripted", "1", "cpu", ("script",), 1, None, {"x": "float"}, "fp32")


def session(call_us: int, cpu: bool = False, device: str = "cpu") -> Session:
    samples = (call_us * 1000,) * 20
    return Session(
        load_s=0.01,
        first_call_s=0.01,
        calibration=Calibration(call_us / 1e6, 1, 0.0),
        warmup=WarmUp(25, 0.01, steady=True),
        samples=Samples(samples, samples if cpu else (), 1, 1, 1, 1, 0, samples_per_turn=5),
        facts=replace(FACTS, device=device),
    )


def value(ratio: RunningRatio) -> float:
    estimate = ratio.estimate()
    assert estimate is not None
    return estimate.value


def unit(a_us: int, b_us: int, cpu: bool = False) -> PairUnit:
    return PairUnit(0, Pair(session(a_us, cpu), session(b_us, cpu)))


def test_every_pair_is_read_once():
    looks: Counter[int] = Counter()

    def counted(pair, statistic):
        looks[id(pair)] += 1
        return log_ratio(pair, statistic)

    units: list[PairUnit] = []
    ratio = RunningRatio(units, (1, 1), counted)
    for b_us in range(100, 130):
        units.append(unit(100, b_us))
        ratio.estimate()
    assert looks == {id(u.pair): 1 for u in units}


def test_it_is_the_ratio_of_all_pairs_so_far():
    units = [unit(100, 110), unit(100, 110)]
    ratio = RunningRatio(units, (1, 1))
    assert value(ratio) == pytest.approx(1.1)
    units += [unit(100, 121), unit(100, 100)]
    assert value(ratio) == pytest.approx(1.1)


def test_one_pair_is_no_ratio_yet():
    assert RunningRatio([unit(100, 110)], (1, 1)).estimate() is None


def test_times_per_item_are_compared():
    assert value(RunningRatio([unit(100, 100)] * 2, (1, 2))) == pytest.approx(0.5)


def test_it_follows_when_a_short_call_forbids_cpu_time():
    units = [unit(2000, 2200, cpu=True)] * 2
    ratio = RunningRatio(units, (1, 1))
    ratio.estimate()
    units.append(unit(900, 990))
    assert value(ratio) == pytest.approx(1.1)


DEVICES = ("cuda", "cuda:1", "mps", "mps:0", "xpu", "GPU.0", "NPU", "tensorrt", "gpu+cpu")


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("both", [False, True])
def test_a_side_on_a_device_is_compared_by_wall_time(device, both):
    """Single-threaded calls of 2 ms with CPU time, which would do for two sides on the CPU."""
    other = session(2000, cpu=True, device=device)
    cpu = session(2000, cpu=True)
    assert choose_statistic([PairUnit(0, Pair(cpu, cpu))] * 4) == "cpu p25"
    units = [PairUnit(0, Pair(other, other) if both else Pair(cpu, other))] * 4
    assert choose_statistic(units) == "wall p10"
    assert choose_statistic([PairUnit(0, Pair(u.pair.b, u.pair.a)) for u in units]) == "wall p10"
