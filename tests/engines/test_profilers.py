"""From a profiler's trace to node times; traces may be long, truncated or invalid."""

import json
from pathlib import Path

import pytest

from modeldyno.core.errors import EngineFailed
from modeldyno.core.profiles import MOST_NODES, OTHERS, NodeTime, Trace
from modeldyno.engines.node_times import NodeEvent, Tally
from modeldyno.engines.onnx_profiling import bare_model, chain_model, read_trace
from modeldyno.engines.onnxruntime import OnnxRuntime
from modeldyno.engines.torch_profiling import read_events
from tests import onnx_models
from tests.scripts import target


def event(name, start, duration):
    return NodeEvent(start, duration, (name, name, ""))


def test_time_of_inner_events_is_subtracted_from_the_outer_one():
    tally = Tally(most_event_ns=10)
    tally.add_call([event("inner", 20, 30), event("outer", 0, 100), event("next", 100, 5)])
    assert tally.trace().nodes == (
        NodeTime("outer", "outer", "", 70, 1, inner=1),
        NodeTime("inner", "inner", "", 30, 1),
        NodeTime("next", "next", "", 5, 1),
    )
    assert (tally.trace().calls, tally.trace().outer) == (1, 2)


def test_truncated_time_is_not_added_to_inner_and_outer_events():
    tally = Tally(most_event_ns=10, truncated_ns=5)
    tally.add_call([event("outer", 0, 100), event("inner", 20, 30), event("inner", 60, 30)])
    assert {node.node: node.self_ns for node in tally.trace().nodes} == {"outer": 35, "inner": 70}


def test_a_node_that_was_interrupted_counts_as_in_its_other_calls():
    tally = Tally(most_event_ns=10)
    for interruption in [0] * 9 + [4_000_000]:
        tally.add_call([event("a", 0, 20_000), event("b", 20_000, 30_000 + interruption)])
    assert [(node.node, node.self_ns) for node in tally.trace().nodes] == [
        ("a", 200_000),
        ("b", 300_000),
    ]


def test_a_node_that_takes_longer_in_some_calls_is_not_taken_for_an_interrupted_one():
    tally = Tally(most_event_ns=10)
    for duration in (20_000, 24_000, 30_000, 38_000):
        tally.add_call([event("a", 0, duration)])
    assert tally.trace().nodes[0].self_ns == 112_000


def test_a_node_that_runs_in_some_calls_only_has_the_time_of_those():
    tally = Tally(most_event_ns=10)
    tally.add_call([event("a", 0, 100), event("branch", 100, 50)])
    tally.add_call([event("a", 0, 100)])
    assert [(node.self_ns, node.events) for node in tally.trace().nodes] == [(200, 2), (50, 1)]


def test_more_nodes_than_anybody_reads_become_one():
    tally = Tally(most_event_ns=10)
    tally.add_call(event(str(n), n, 1) for n in range(MOST_NODES + 50))
    nodes = tally.trace().nodes
    assert (len(nodes), nodes[-1]) == (MOST_NODES, NodeTime(OTHERS, OTHERS, "", 51, 51))


# ---------------------------------------------------------------- ONNX Runtime


def call(*kernels):
    """The lines of one call: ``("name", op, ts, dur)`` each."""
    lines = [
        {
            "cat": "Node",
            "name": f"{name}_kernel_time",
            "ts": ts,
            "dur": dur,
            "args": {"op_name": op, "provider": "CPUExecutionProvider"},
        }
        for name, op, ts, dur in kernels
    ]
    lines.append({"cat": "Session", "name": "model_run", "ts": 0, "dur": 100, "args": {}})
    return [json.dumps(line) for line in lines]


def written(path, *lines):
    path.write_text("[\n" + ",\n".join(lines) + "\n]\n")
    return path


def test_calls_that_do_not_count_are_skipped(tmp_path):
    warm_up, counted = (
        call(("a", "Conv", 0, 9000)),
        call(("a", "Conv", 10, 30), ("b", "Add", 40, 2)),
    )
    trace = read_trace(written(tmp_path / "t", *warm_up, *counted, *warm_up), [True, False])
    assert trace.calls == 1
    assert [(n.node, n.op_type, n.self_ns) for n in trace.nodes] == [
        ("a", "Conv", 30_500),  # rounding down to microseconds loses half of one on average
        ("b", "Add", 2_500),
    ]


def test_a_trace_that_lost_calls_says_so(tmp_path):
    path = written(tmp_path / "t", *call(("a", "Conv", 0, 9)))
    with pytest.raises(EngineFailed, match="lost calls"):
        read_trace(path, [True, True])
    assert read_trace(path, [True]).calls == 1  # the control


def test_lines_that_are_no_events_are_passed_over(tmp_path):
    good = call(("a", "Conv", 0, 9))
    rubbish = ["{not json", "[]", "3", '{"name": "fence_before"}', '{"x": ' + "9" * (3 << 20) + "}"]
    assert read_trace(written(tmp_path / "t", *rubbish, *good), [True]).nodes[0].node == "a"


def test_a_chain_of_nodes_runs_all_of_them(tmp_path):
    import numpy as np
    import onnx
    import onnxruntime

    model = onnx.load_from_string(chain_model(5))
    onnx.checker.check_model(model)
    options = onnxruntime.SessionOptions()
    options.enable_profiling, options.profile_file_prefix = True, str(tmp_path / "chain")
    session = onnxruntime.InferenceSession(model.SerializeToString(), options)
    (found,) = session.run(None, {"x0": np.full((1, 1, 1, 1), 3, np.float32)})
    assert found.tolist() == [[[[3]]]]
    trace = read_trace(Path(session.end_profiling()), [True])
    assert [(node.op_type, node.events) for node in trace.nodes] == [("Max", 1)] * 5


@pytest.mark.parametrize("counts", [(1, 1), (3, 1), (1, 40)])
def test_a_model_that_computes_nothing_is_a_model(counts):
    import numpy as np
    import onnx
    import onnxruntime

    model = onnx.load_from_string(bare_model(*counts))
    onnx.checker.check_model(model)
    session = onnxruntime.InferenceSession(model.SerializeToString())
    inputs = {f"x{n}": np.full(1, n, np.float32) for n in range(counts[0])}
    assert [float(y[0]) for y in session.run(None, inputs)] == [
        n % counts[0] for n in range(counts[1])
    ]


def test_onnx_runtime_measures_what_recording_an_event_costs(tmp_path, monkeypatch):
    import numpy as np

    monkeypatch.chdir(tmp_path)
    model = onnx_models.saved(onnx_models.linear(), tmp_path / "m.onnx")
    engine, onnx_target = OnnxRuntime(), target(model, "onnxruntime")
    with engine.open(onnx_target) as session, engine.profiled(onnx_target, session) as profiled:
        profiled.bind({"x": np.zeros((1, 4), np.float32)}, "hot")()
        trace = profiled.trace([True])
    assert trace.event_ns is not None
    assert 0 < trace.event_ns < trace.most_event_ns
    assert not list(tmp_path.glob("bare*"))


def test_the_trace_is_gone_afterwards(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    model = onnx_models.saved(onnx_models.linear(), tmp_path / "m.onnx")
    import numpy as np

    engine, onnx_target = OnnxRuntime(), target(model, "onnxruntime")
    with engine.open(onnx_target) as session, engine.profiled(onnx_target, session) as profiled:
        profiled.bind({"x": np.zeros((1, 4), np.float32)}, "hot")()
        assert isinstance(profiled.trace([True]), Trace)
        assert list(tmp_path.glob("profile*"))  # the control
    assert not list(tmp_path.glob("profile*"))


# ---------------------------------------------------------------- PyTorch


class Kineto:
    """An event as PyTorch before 2.13 reports it: without its kind."""

    def __init__(self, name, start, duration, number=0, launched_by=0, device="CPU"):
        self._fields = (name, start, duration, number, launched_by, f"DeviceType.{device}")

    def name(self):
        return self._fields[0]

    def start_ns(self):
        return self._fields[1]

    def duration_ns(self):
        return self._fields[2]

    def correlation_id(self):
        return self._fields[3]

    def linked_correlation_id(self):
        return self._fields[4]

    def device_type(self):
        return self._fields[5]


def test_time_on_a_gpu_counts_for_the_operator_that_launched_it():
    events = [
        Kineto("modeldyno call", 0, 100),
        Kineto("aten::linear", 10, 30, number=1),
        Kineto("aten::addmm", 15, 20, number=2),
        Kineto("cudaLaunchKernel", 20, 5, launched_by=2),
        Kineto("modeldyno call", 5, 90, device="CUDA"),  # the call's mark is on the device, too
        Kineto("gemm", 40, 50, launched_by=2, device="CUDA"),
        Kineto("gemm", 90, 5, launched_by=2, device="CUDA"),
    ]
    trace = read_events(events, [True], "cuda")
    assert [(n.node, n.op_type, n.device_ns) for n in trace.nodes] == [
        ("aten::linear #1", "aten::linear", 0),
        ("aten::addmm #1", "aten::addmm", 55),
    ]


def test_the_way_to_an_operator_is_its_own():
    events = [
        Kineto("modeldyno call", 0, 100),
        Kineto("aten::relu", 10, 20, number=1),
        Kineto("aten::relu", 50, 20, number=2),
    ]
    trace = read_events(events, [True], "cpu")
    assert [(n.node, n.self_ns) for n in trace.nodes] == [
        ("aten::relu #1", 20),
        ("aten::relu #2", 40),
    ]
    with pytest.raises(EngineFailed, match="lost calls"):
        read_events(events, [True, True], "cpu")
