"""The profiler's overhead is removed, and time outside of nodes is reported."""

from dataclasses import replace

import pytest

from modeldyno.core.hosts import HostWeather
from modeldyno.core.profiles import NodeTime, ProfileRepeat, Trace
from modeldyno.core.sessions import SessionFacts
from modeldyno.measure.profile import LEAST_SHARE, break_down

FACTS = SessionFacts("scripted", "1", "cpu", ("script",), 1, None, {})
US = 1_000


def node(name, us, events=1, inner=0, device_us=None):
    device_ns = None if device_us is None else device_us * US
    return NodeTime(name, name.rstrip("0123456789"), "script", us * US, events, inner, device_ns)


def repeat(*nodes, plain, profiled, bare=None, most_event_us=100, outer=None, event_us=None):
    """One call, with these microseconds."""
    outer = sum(n.events for n in nodes) if outer is None else outer
    return ProfileRepeat(
        facts=FACTS,
        load_s=0.1,
        contract="hot",
        plain_ns=(plain * US,) * 3,
        profiled_ns=(profiled * US,) * 3,
        trace=Trace(
            nodes,
            1,
            outer,
            most_event_us * US,
            event_ns=None if event_us is None else int(event_us * US),
        ),
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


# ---------------------------------------------------------------- on a busy machine


def test_an_event_costs_what_it_was_measured_to_cost_when_the_machine_is_busy():
    """Truth: 3 µs an event. Other work made the recorded calls longer, which would make it 12."""
    nodes = node("conv", 1000), node("pool", 39), node("relu", 13)
    busy = repeat(*nodes, plain=1010, profiled=1060, bare=2, event_us=3)
    breakdown = break_down([busy])
    assert breakdown.event_cost_s == pytest.approx(3e-6)
    recorded = {row.node: row.told_s * 1e6 for row in breakdown.rows}
    kept = {row.node: row.total_s / breakdown.scale * 1e6 for row in breakdown.rows}
    assert [recorded[name] - kept[name] for name in kept] == pytest.approx([3, 3, 3])
    unbounded = break_down([repeat(*nodes, plain=1010, profiled=1060, bare=2)])  # the control
    assert unbounded.event_cost_s > 10e-6


def test_calls_decide_within_a_factor_of_two_of_what_was_measured():
    """The nodes of this model have more operands than those that were measured."""
    nodes = node("a", 85), node("b", 15)
    breakdown = break_down([repeat(*nodes, plain=92, profiled=112, bare=2, event_us=3)])
    assert breakdown.event_cost_s == pytest.approx(5e-6)
    assert not any(row.unknown for row in breakdown.rows)


def test_without_such_a_measurement_an_event_costs_no_more_than_the_quickest_calls_gained():
    """Two events made them 4 µs longer; the nodes say 25 more than the latency."""
    nodes = node("a", 120), node("b", 7)
    breakdown = break_down([repeat(*nodes, plain=100, profiled=104, bare=2)])
    assert breakdown.event_cost_s == pytest.approx(2e-6)
    heavy, light = breakdown.rows
    assert not heavy.unknown
    assert light.unknown == (
        "recording it costs about 2.00 µs of the 7.00 µs that were recorded, and calls took longer "
        "than that explains"
    )


def test_a_node_that_is_mostly_the_profilers_cost_has_no_time():
    tiny = [node(f"t{n}", 6) for n in range(10)]
    a, *others = break_down([repeat(node("a", 100), *tiny, plain=40, profiled=200, bare=3)]).rows
    assert a.unknown == ""
    assert all(row.unknown.startswith("recording it costs about 6.00 µs of the") for row in others)


def disturbed(shares, calls_us=1000, busy=4):
    """Repeats of two nodes, with this share of the second in each, on a core shared with others."""
    return [
        replace(
            repeat(
                node("a", calls_us * (1 - share)),
                node("b", calls_us * share),
                plain=calls_us,
                profiled=calls_us,
            ),
            plain_ns=tuple(calls_us * US + number for number in range(20)),
            block_wall_ns=busy * 10**9,
            block_cpu_ns=10**9,
        )
        for share in shares
    ]


def test_a_time_that_differs_between_repeats_of_a_busy_machine_is_not_shown():
    shares = (0.05, 0.1, 0.02, 0.2)
    breakdown = break_down(disturbed(shares))
    assert breakdown.noise == "contended"
    assert "contention 4.00" in breakdown.reasons[0]
    a, b = breakdown.rows
    assert (a.unknown, b.unknown) == (
        "",
        "it took 2 % to 20 % of a call in the repeats: other work interrupted them",
    )
    assert breakdown.unknown_by_op == {"b": b.unknown}
    alike = break_down(disturbed((0.05, 0.051, 0.052, 0.05)))
    assert [row.unknown for row in alike.rows] == ["", ""]
    quiet = break_down(disturbed(shares, busy=1))
    assert (quiet.noise, [row.unknown for row in quiet.rows]) == ("quiet", ["", ""])


def test_quality_is_judged_as_that_of_a_cell():
    def judged(repeats, **changes):
        weather = HostWeather(None, changes.pop("pressure", None), None, None)
        changed = [replace(one, **changes) for one in disturbed([0.1] * repeats, busy=1)]
        return break_down(changed, weather)

    assert judged(5).noise == "quiet"
    assert judged(3).noise == "noisy"
    assert "Too few sessions" in judged(3).reasons[0]
    few = judged(1, plain_ns=(1000 * US,) * 3)
    assert few.noise == "unusable"
    assert "too few to know" in few.reasons[0]
    assert "Warm-up ended" in judged(5, steady=False).reasons[0]
    threads = replace(FACTS, threads=2)
    assert judged(5, facts=threads, pressure=0.5).noise == "contended"
    assert judged(5, facts=threads, pressure=0.0).noise == "quiet"


def test_calls_that_were_interrupted_do_not_make_the_profiler_look_cheap():
    """Most plain calls took 9 ms instead of 1; nodes were recorded undisturbed, at 5 µs each."""
    nodes = [node(f"n{number}", 105) for number in range(10)]
    calm = repeat(*nodes, plain=1002, profiled=1100, bare=2, event_us=5)
    walls = (1002 * US,) * 4 + (9000 * US,) * 6
    busy = break_down([replace(calm, plain_ns=walls, profiled_ns=walls)])
    assert busy.event_cost_s == pytest.approx(break_down([calm]).event_cost_s, rel=0.01)
    assert busy.latency_s == pytest.approx(9e-3)
    assert busy.sum_s + busy.outside_s == pytest.approx(busy.latency_s)


def test_without_calls_to_tell_apart_short_nodes_of_a_busy_machine_have_no_time():
    """One interruption of 3 ms in one of 100 calls adds 30 µs: nothing to 950 µs, all to 50."""

    def times(is_mean, busy):
        repeats = disturbed([0.05] * 4, busy=busy)
        traces = [
            replace(
                one.trace,
                calls=100,
                is_mean=is_mean,
                nodes=tuple(replace(n, self_ns=100 * n.self_ns) for n in one.trace.nodes),
            )
            for one in repeats
        ]
        pairs = zip(repeats, traces, strict=True)
        return [row.unknown for row in break_down([replace(r, trace=t) for r, t in pairs]).rows]

    interrupted = "other work that interrupts one of the calls may make up much of what it took"
    assert times(is_mean=True, busy=4) == ["", interrupted]
    assert times(is_mean=True, busy=1) == times(is_mean=False, busy=4) == ["", ""]
