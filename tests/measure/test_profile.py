"""The profiler's overhead is removed, and time outside of nodes is reported."""

import pytest

from modeldyno.core.profiles import NodeTime, ProfileRepeat, Trace
from modeldyno.core.sessions import SessionFacts
from modeldyno.measure.profile import LEAST_SHARE, break_down

FACTS = SessionFacts("scripted", "1", "cpu", ("script",), 1, None, {})
US = 1_000


def node(name, us, events=1, inner=0, device_us=None):
    device_ns = None if device_us is None else device_us * US
    return NodeTime(name, name.rstrip("0123456789"), "script", us * US, events, inner, device_ns)


def repeat(*nodes, plain, profiled, bare=None, most_event_us=100, outer=None):
    """One call, with these microseconds."""
    outer = sum(n.events for n in nodes) if outer is None else outer
    return ProfileRepeat(
        facts=FACTS,
        load_s=0.1,
        contract="hot",
        plain_ns=(plain * US,) * 3,
        profiled_ns=(profiled * US,) * 3,
        trace=Trace(nodes, 1, outer, most_event_us * US),
        bare_ns=None if bare is None else bare * US,
    )


def times(breakdown):
    return {row.node: round(row.total_s * 1e6, 3) for row in breakdown.rows}


def test_a_profiler_that_costs_nothing_is_believed():
    breakdown = break_down([repeat(node("a", 60), node("b", 30), plain=100, profiled=100)])
    assert times(breakdown) == {"a": 60, "b": 30}
    assert (breakdown.event_cost_s, breakdown.scale) == (0, 1)
    assert breakdown.outside_s == pytest.approx(10e-6)
    assert breakdown.coverage == pytest.approx(0.9)


def test_what_each_event_costs_is_taken_out_of_each_node_and_no_share_of_it():
    """Truth: 80 and 10 µs in a call of 92; each event costs 5 inside its node, and 5 around it."""
    profile = repeat(node("a", 85), node("b", 15), plain=92, profiled=112, bare=2)
    breakdown = break_down([profile])
    assert times(breakdown) == {"a": 80, "b": 10}
    assert breakdown.event_cost_s == pytest.approx(5e-6)
    assert breakdown.outside_s == pytest.approx(2e-6)
    assert breakdown.recorded_s == pytest.approx(100e-6)
    assert breakdown.profiled_s == pytest.approx(112e-6)
    assert {row.node: row.told_s for row in breakdown.rows} == pytest.approx(
        {"a": 85e-6, "b": 15e-6}
    )


def test_events_inside_a_node_cost_time_of_that_node():
    """An If of 10 µs around two nodes of 20: three events, each 4 in itself and 4 around."""
    inner = [node("n1", 24), node("n2", 24)]
    profile = repeat(node("If", 22, inner=2), *inner, plain=52, profiled=76, bare=2, outer=1)
    assert times(break_down([profile])) == {"If": 10, "n1": 20, "n2": 20}


def test_a_node_that_is_shorter_than_its_events_keeps_a_little_and_the_sum_still_agrees():
    tiny = [node(f"t{n}", 6) for n in range(10)]
    breakdown = break_down([repeat(node("a", 100), *tiny, plain=98, profiled=200, bare=3)])
    assert breakdown.sum_s == pytest.approx(95e-6)
    assert all(row.total_s >= LEAST_SHARE * row.told_s for row in breakdown.rows)


def test_a_machine_that_slowed_down_is_no_slow_profiler():
    profile = repeat(
        node("a", 120), node("b", 40), plain=82, profiled=162, bare=2, most_event_us=0
    )  # fmt: skip
    breakdown = break_down([profile])
    assert times(breakdown) == {
        "a": pytest.approx(60.74, abs=0.01),
        "b": pytest.approx(20.25, abs=0.01),
    }
    assert breakdown.scale == pytest.approx(82 / 162)
    assert breakdown.sum_s + breakdown.outside_s == pytest.approx(82e-6)


def test_a_machine_that_was_quicker_scales_all_nodes_alike():
    breakdown = break_down([repeat(node("a", 60), node("b", 20), plain=100, profiled=90)])
    assert times(breakdown)["a"] / times(breakdown)["b"] == pytest.approx(3, rel=1e-3)
    assert breakdown.scale == pytest.approx(100 / 90)


def test_repeats_count_alike_and_a_node_that_one_of_them_lacks_counts_as_none():
    first = repeat(node("a", 50), node("b", 40), plain=90, profiled=90)
    second = repeat(node("a", 90), plain=90, profiled=90)
    breakdown = break_down([first, second])
    assert times(breakdown) == {"a": 70, "b": 20}
    assert breakdown.latency_s == pytest.approx(90e-6)


def test_an_accelerator_has_a_clock_of_its_own():
    nodes = node("a", 5, device_us=70), node("b", 5, device_us=20)
    breakdown = break_down([repeat(*nodes, plain=100, profiled=300)])
    assert times(breakdown) == {"a": 70, "b": 20}
    assert [row.accelerator_s for row in breakdown.rows] == pytest.approx([70e-6, 20e-6])
    assert (breakdown.event_cost_s, breakdown.scale) == (0, 1)


def test_intervals_are_of_repeats_by_node_and_by_operator_and_need_four():
    """20 ± 2 µs and 10 ± 1, which move together: their sum moves by three."""
    pairs = [(18, 9), (22, 11), (18, 9), (22, 11)]
    profiles = [repeat(node("a1", a), node("a2", b), plain=40, profiled=40) for a, b in pairs]
    breakdown = break_down(profiles)
    half = 3.182446 * 2.309401 / 2  # t of 3 degrees, the deviation, and the root of four
    first = breakdown.rows[0].ci95_s
    assert first == pytest.approx(((20 - half) * 1e-6, (20 + half) * 1e-6))
    assert breakdown.ci95_s_by_op == {
        "a": pytest.approx(((30 - 1.5 * half) * 1e-6, (30 + 1.5 * half) * 1e-6))
    }
    few = break_down(profiles[:3])
    assert few.rows[0].ci95_s is None
    assert few.ci95_s_by_op == {}
