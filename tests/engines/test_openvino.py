"""OpenVINO: the contract of every engine, and nothing silent: precision, types, sizes, threads."""

from datetime import timedelta
from enum import Enum
from types import SimpleNamespace
from typing import Any

import numpy as np
import openvino
import pytest
from onnx import TensorProto, helper
from onnxruntime.quantization import CalibrationDataReader, quantize_static

import modeldyno
from modeldyno.core.errors import BadValue, EngineFailed, EngineUnavailable, UserError
from modeldyno.core.profiles import MOST_NODES, NodeTime
from modeldyno.core.sessions import Target
from modeldyno.engines.onnxruntime import OnnxRuntime
from modeldyno.engines.openvino import OpenVino
from modeldyno.engines.openvino_devices import find_device, require_hint
from modeldyno.engines.openvino_profiling import Reading, divide_among_calls, reading
from modeldyno.engines.outputs import compare
from modeldyno.present.tables import benchmark_rows
from tests import litert_files, onnx_models, tf_files
from tests.contracts.engine_contract import EngineContract
from tests.scripts import target

pytestmark = pytest.mark.engine("openvino")
ENGINE = OpenVino()
X = {"x": np.random.default_rng(0).standard_normal((2, 4), dtype=np.float32)}


class TestContract(EngineContract):
    engine = OpenVino()

    @pytest.fixture
    def target(self, tmp_path):
        model = onnx_models.saved(onnx_models.linear(), tmp_path / "m.onnx")
        return target(model, "openvino")


class TestContractOfIr(EngineContract):
    """Unless told otherwise, OpenVINO halves the weights of the IR that it writes."""

    engine = OpenVino()
    precision = "fp16 weights, fp32 activations"

    @pytest.fixture
    def target(self, tmp_path):
        model = onnx_models.saved(onnx_models.linear(), tmp_path / "m.onnx")
        openvino.save_model(openvino.convert_model(model), tmp_path / "m.xml")
        return target(tmp_path / "m.xml", "openvino", format="openvino-ir")


class TestContractOfLiteRt(EngineContract):
    """Its inputs and outputs have names for callers, which OpenVINO does not read."""

    engine = OpenVino()

    @pytest.fixture
    def target(self, tmp_path):
        model = litert_files.saved(tmp_path / "m.tflite")
        settings = {"format": "litert", "inputs": ("x",), "outputs": ("y",)}
        return target(model, "openvino", **settings)


def of_tensorflow():
    """y = x · w, with x of four features."""
    return tf_files.graph_def(
        tf_files.placeholder("x", -1, 4),
        tf_files.constant("w", *range(12), dims=(4, 3)),
        tf_files.node("y", "MatMul", "x", "w", T=tf_files.dtype(tf_files.FLOAT)),
    )


class TestContractOfTensorFlowGraph(EngineContract):
    engine = OpenVino()

    @pytest.fixture
    def target(self, tmp_path):
        (tmp_path / "m.pb").write_bytes(of_tensorflow())
        settings = {"format": "tf-graph", "inputs": ("x",), "outputs": ("y",)}
        return target(tmp_path / "m.pb", "openvino", **settings)


class TestContractOfSavedModel(EngineContract):
    engine = OpenVino()

    @pytest.fixture
    def target(self, tmp_path):
        ports = {"x": tf_files.info("x:0", -1, 4)}, {"y": tf_files.info("y:0", -1, 3)}
        signatures = {"serving_default": tf_files.signature(*ports)}
        content = tf_files.saved_model(of_tensorflow(), signatures)
        (tmp_path / "saved_model.pb").write_bytes(content)
        settings = {"format": "saved-model", "inputs": ("x",), "outputs": ("y",)}
        return target(tmp_path / "saved_model.pb", "openvino", **settings)


def test_of_several_signatures_it_takes_the_usual_one_and_refuses_others(tmp_path):
    (path := tmp_path / "saved_model.pb").write_bytes(tf_files.two_ways())
    inputs = {"x": np.ones((1, 4), np.float32)}
    settings = {"format": "saved-model", "inputs": ("x",), "outputs": ("y",)}
    default = target(path, "openvino", signature="serving_default", **settings)
    assert ENGINE.examine(default, inputs)[1]["y"].tolist() == [[18, 22, 26]]
    with (
        pytest.raises(BadValue, match="cannot use the signature 'shift'"),
        ENGINE.open(target(path, "openvino", signature="shift", **settings)),
    ):
        pass


@pytest.fixture
def linear(tmp_path):
    return onnx_models.saved(onnx_models.linear(), tmp_path / "m.onnx")


@pytest.fixture(autouse=True)
def workspace(tmp_path, monkeypatch):
    monkeypatch.setenv("MODELDYNO_WORKSPACE", str(tmp_path / "workspace"))


# ---------------------------------------------------------------- precision and types


def test_it_computes_in_float32_though_its_own_choice_is_another(linear):
    """By default, it would use bfloat16 on processors that have it."""
    facts, outputs = ENGINE.examine(target(linear, "openvino"), X)
    _, exact = OnnxRuntime().examine(target(linear, "onnxruntime"), X)
    assert facts.precision == "fp32"
    assert compare(exact, outputs).max_rel_error < 1e-6
    with ENGINE.open(target(linear, "openvino")) as session:
        hint = session._compiled.get_property("INFERENCE_PRECISION_HINT")
    assert hint == openvino.Type.f32


@pytest.mark.parametrize("precision", ["bf16", "fp16"])
def test_another_precision_is_had_or_refused_and_never_swapped(precision, linear):
    supported = openvino.Core().get_property("CPU", "OPTIMIZATION_CAPABILITIES")
    requested = target(linear, "openvino", precision=precision)
    if precision.upper() in supported:
        assert ENGINE.examine(requested, X)[0].precision == precision
    else:
        with pytest.raises(BadValue, match=f"cannot compute in {precision} here"):
            ENGINE.examine(requested, X)


class Calibration(CalibrationDataReader):  # type: ignore[misc]  # its package has no types
    def __init__(self) -> None:
        self._batches = iter([X])

    def get_next(self):
        return next(self._batches, None)


def test_a_quantised_model_is_computed_in_int8(linear, tmp_path):
    quantize_static(linear, tmp_path / "int8.onnx", Calibration())
    facts, _ = ENGINE.examine(target(tmp_path / "int8.onnx", "openvino"), X)
    assert facts.precision == "int8"


def test_a_precision_that_it_replaces_is_refused():
    require_hint("f32", "f32")
    with pytest.raises(BadValue, match="cannot compute in fp16 here") as caught:
        require_hint("f16", "bf16")
    assert "would use bf16 instead" in caught.value.why


def test_inputs_of_another_type_are_refused_and_not_converted(linear):
    with ENGINE.open(target(linear, "openvino")) as session:
        with pytest.raises(ValueError, match="is float32, and float64 was given"):
            session.run({"x": X["x"].astype(np.float64)})
        assert session.facts.input_dtypes == {"x": "float32"}


def test_integer_inputs_stay_as_wide_as_the_model_says(tmp_path):
    model = onnx_models.saved(onnx_models.embedding(), tmp_path / "m.onnx")
    facts, outputs = ENGINE.examine(
        target(model, "openvino"), {"ids": np.array([[1, 49]], dtype=np.int64)}
    )
    assert facts.input_dtypes == {"ids": "int64"}
    assert outputs["y"].shape == (1, 2, 8)


# ---------------------------------------------------------------- sizes, threads, devices


def test_open_sizes_are_settled_by_the_plan(linear):
    with ENGINE.open(target(linear, "openvino", shapes={"x": (2, 4)})) as session:
        compiled = session._compiled
        session.bind(X, "hot")()
        assert session._compiled is compiled  # loading did all the compiling
        assert list(compiled.inputs[0].shape) == [2, 4]


def test_sizes_that_cannot_be_settled_stay_open_and_a_note_says_so(tmp_path):
    """The number of nonzero elements depends on the input's values …"""
    graph = onnx_models.model(
        [
            helper.make_node("NonZero", ["x"], ["places"]),
            helper.make_node("Cast", ["places"], ["y"], to=TensorProto.FLOAT),
        ],
        [onnx_models.value("x", shape=["batch", 4])],
        [onnx_models.value("y", shape=[2, "many"])],
    )
    model = onnx_models.saved(graph, tmp_path / "m.onnx")
    facts, outputs = ENGINE.examine(target(model, "openvino"), X)
    assert outputs["y"].shape == (2, 8)
    assert facts.notes == ()  # … but the input's own size is fixed nevertheless


def test_threads_are_read_back(linear):
    with ENGINE.open(Target("openvino", str(linear), threads=2)) as session:
        assert session.facts.threads == session._compiled.get_property("INFERENCE_NUM_THREADS")
        assert session._compiled.get_property("NUM_STREAMS") == 1


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"device": "cuda"}, "no device 'cuda'"),
        ({"device": "cpu:1"}, "no device 'cpu:1'"),
        ({"precision": "int8"}, "cannot run in precision 'int8'"),
        ({"options": {"streams": 2}}, "no option 'streams'"),
    ],
)
def test_unsupported_settings_are_refused_with_a_reason(settings, complaint, linear):
    opening = ENGINE.open(Target("openvino", str(linear), **settings))
    with pytest.raises(UserError, match=complaint):
        opening.__enter__()


@pytest.mark.parametrize("contract", ["hot", "api", "e2e"])
def test_a_call_of_two_streams_makes_two_requests(contract, linear):
    with ENGINE.open(target(linear, "openvino", threads=2, streams=2)) as session:
        call = session.bind(X, contract)
        outputs: Any = [call(), call()][-1]
        assert session.facts.streams == 2
        expected = session.run(X)["y"]
    if contract != "hot":
        assert len(outputs) == 2
        assert all(np.allclose(output, expected) for (output,) in outputs)


def test_more_streams_than_threads_are_refused(linear):
    opening = ENGINE.open(target(linear, "openvino", threads=1, streams=2))
    with pytest.raises(BadValue, match="created 1 of the 2 requested streams"):
        opening.__enter__()


def test_only_devices_that_it_lists_are_accepted():
    assert find_device("gpu:1", lambda: ["CPU", "GPU.0", "GPU.1"]).openvino_name == "GPU.1"
    assert find_device("gpu", lambda: ["CPU", "GPU.0", "GPU.1"]).openvino_name == "GPU"
    with pytest.raises(EngineUnavailable, match="cannot use device 'npu' here") as caught:
        find_device("npu", lambda: ["CPU", "GPU"])
    assert "it found CPU, GPU" in caught.value.why


def test_a_file_that_is_not_a_model_is_refused_with_its_own_message(tmp_path):
    (tmp_path / "m.onnx").write_bytes(b"\x08\x08 this is no model")
    opening = ENGINE.open(target(tmp_path / "m.onnx", "openvino"))
    with pytest.raises(EngineFailed, match="could not load"):
        opening.__enter__()


# ---------------------------------------------------------------- the whole path


def test_it_is_compared_with_another_engine_on_the_same_inputs_in_a_sandbox(linear):
    sides = (f"{linear}@engine=onnxruntime", f"{linear}@engine=openvino")
    result = modeldyno.compare(*sides, quick=True)
    assert result.parity is not None
    assert result.parity.agrees
    precisions = [(side.facts.engine, side.facts.precision) for side in (result.a, result.b)]
    assert precisions == [("onnxruntime", "fp32"), ("openvino", "fp32")]


def test_a_model_of_its_own_format_is_measured_with_its_weights(linear, tmp_path):
    openvino.save_model(openvino.convert_model(linear), tmp_path / "m.xml")
    result = modeldyno.bench(tmp_path / "m.xml", batch=[1, 3], iterations=5)
    engines = [cell.facts and cell.facts.engine for cell in result.cells]
    assert engines == ["openvino", "openvino"]
    assert [cell.batch_size for cell in result.cells] == [1, 3]


def test_streams_are_an_axis_and_all_their_items_count(linear):
    result = modeldyno.bench(
        linear, engine=["onnxruntime", "openvino"], batch=3, cores=2, streams=[1, 2], iterations=5
    )
    cells = [(cell.facts and cell.facts.engine, cell.spec.streams) for cell in result.cells]
    assert cells == [("onnxruntime", 1), ("openvino", 1), ("openvino", 2)]
    assert [(cell.batch_size, cell.items) for cell in result.cells] == [(3, 3), (3, 3), (3, 6)]
    head, rows = benchmark_rows(result)
    assert [row[head.index("streams")] for row in rows] == ["1", "1", "2"]


def test_an_engine_without_streams_says_so(linear):
    with pytest.raises(BadValue, match="has no streams"):
        modeldyno.bench(linear, engine="onnxruntime", streams=2, iterations=5)


# ---------------------------------------------------------------- its profiler


class Status(Enum):
    NOT_RUN = 0
    EXECUTED = 2


def node(name, microseconds, status=Status.EXECUTED):
    return SimpleNamespace(
        **{"node_name": name, "node_type": "Conv", "status": status, "Status": Status},
        real_time=timedelta(microseconds=microseconds),
    )


def test_truncated_means_are_compensated():
    nodes = [node("a", 3), node("b", 0, Status.NOT_RUN)]
    expected = Reading(10, {("a", "Conv", "CPU"): 40_000})
    assert reading(10, nodes, "CPU", Reading()) == expected


def test_a_node_that_ran_once_has_run_though_it_is_too_quick_to_tell():
    before = reading(1, [node("a", 3)], "CPU", Reading())
    after = reading(10, [node("a", 0, Status.NOT_RUN)], "CPU", before)
    assert after == Reading(10, {("a", "Conv", "CPU"): 10_000})


def test_calls_that_count_have_their_share_of_all():
    recorded = Reading(4, {("a", "Conv", "CPU"): 6_000, ("b", "Add", "CPU"): 2_000})
    trace = divide_among_calls(recorded, [1_000, 1_000, 7_000, 1_000], [True, False, True])
    assert (trace.calls, trace.outer) == (2, 4)
    assert trace.nodes == (
        NodeTime("a", "Conv", "CPU", 1_200, 2),
        NodeTime("b", "Add", "CPU", 400, 2),
    )


def test_calls_between_recordings_are_taken_out():
    end, begin = Reading(5, {("a", "", ""): 90}), Reading(2, {("a", "", ""): 50})
    assert end.since(begin) == Reading(3, {("a", "", ""): 40})
    assert end.since(begin).plus(begin) == end


def test_a_profiler_that_lost_calls_says_so():
    with pytest.raises(EngineFailed, match="lost calls"):
        divide_among_calls(Reading(1, {}), [10], [True, True])


def test_more_nodes_than_anybody_reads_become_one():
    recorded = Reading(1, {(str(n), "Conv", "CPU"): 10 for n in range(MOST_NODES + 50)})
    assert len(divide_among_calls(recorded, [10], [True]).nodes) == MOST_NODES
