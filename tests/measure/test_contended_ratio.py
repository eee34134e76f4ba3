"""What a comparison says when neighbours hit base side more often than the other."""

from dataclasses import replace

import pytest

from modeldyno.core.sessions import Calibration, Pair, Samples, Session, SessionFacts, WarmUp
from modeldyno.measure.compare import PairUnit, judge_pairs
from modeldyno.measure.host import UNKNOWN_WEATHER

FACTS = SessionFacts("scripted", "1", "cpu", ("script",), 1, None, {"x": "float"}, "fp32")
ROUNDS = 20


def session(rounds_us, wall_by_cpu):
    """Five samples a turn, two turns a round."""
    wall = tuple(call * 1000 for call in rounds_us for _ in range(10))
    busy = sum(wall)
    return Session(
        load_s=0.01,
        first_call_s=0.01,
        calibration=Calibration(min(rounds_us) / 1e6, 1, 0.0),
        warmup=WarmUp(25, 0.01, steady=True),
        samples=Samples(wall, (), 1, busy, int(busy / wall_by_cpu), int(busy / wall_by_cpu), 0, 5),
        facts=FACTS,
    )


def judged(b_rounds_us, wall_by_cpu):
    pairs = [
        PairUnit(0, Pair(session([100] * ROUNDS, wall_by_cpu), session(b_rounds_us, wall_by_cpu)))
        for _ in range(6)
    ]
    return judge_pairs(pairs, 0.02, (1, 1), UNKNOWN_WEATHER)


HIT = [102] * 5 + [130] * 15  # of each four rounds, three waited for a neighbour


def test_rounds_and_floors_that_disagree_are_both_in_the_interval_of_a_contended_machine():
    judgement = judged(HIT, wall_by_cpu=3)
    assert judgement.noise == "contended"
    assert judgement.ratio.value == pytest.approx(1.30)
    assert judgement.ratio.low == pytest.approx(1.02)
    assert judgement.verdict == "inconclusive"
    assert any("includes both" in note for note in judgement.notes)


def test_a_quiet_machine_is_judged_by_its_own_counters():
    judgement = judged(HIT, wall_by_cpu=1)
    assert judgement.ratio.low == pytest.approx(1.30)
    assert judgement.verdict == "slower"


def test_small_disagreements_change_nothing():
    judgement = judged([110] * 5 + [113] * 15, wall_by_cpu=3)
    assert judgement.noise == "contended"
    assert judgement.ratio.low == pytest.approx(1.13)


@pytest.mark.parametrize(
    ("threads", "statistic", "contention"), [(1, "cpu p25", 2.0), (None, "wall p10", None)]
)
def test_an_unknown_number_of_threads_is_not_taken_for_one(threads, statistic, contention):
    """The calling thread's CPU time is not that of the work, where others may do a part of it."""
    base = session([2000] * ROUNDS, wall_by_cpu=2)
    busy = tuple(wall // 2 for wall in base.samples.wall_ns)
    facts, samples = replace(FACTS, threads=threads), replace(base.samples, cpu_ns=busy)
    side = replace(base, facts=facts, samples=samples)
    judgement = judge_pairs([PairUnit(0, Pair(side, side))] * 6, 0.02, (1, 1), UNKNOWN_WEATHER)
    assert (judgement.statistic, judgement.contention) == (statistic, contention)


def test_waiting_for_another_device_is_not_contention():
    base = session([2000] * ROUNDS, wall_by_cpu=20)
    busy = tuple(wall // 20 for wall in base.samples.wall_ns)
    samples = replace(base.samples, cpu_ns=busy)
    cpu, gpu = (
        replace(base, samples=samples, facts=replace(FACTS, device=device))
        for device in ("cpu", "cuda:0")
    )
    judgement = judge_pairs([PairUnit(0, Pair(cpu, gpu))] * 6, 0.02, (1, 1), UNKNOWN_WEATHER)
    assert (judgement.statistic, judgement.contention) == ("wall p10", None)
