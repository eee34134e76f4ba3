"""ONNX Runtime: the contract of every engine, and facts that are read back, never echoed."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper, load, numpy_helper
from onnxruntime.quantization import (
    CalibrationDataReader,
    QuantFormat,
    QuantType,
    quantize_dynamic,
    quantize_static,
)

from modeldyno.core.errors import UserError
from modeldyno.core.sessions import Target
from modeldyno.engines.onnxruntime import OnnxRuntime
from modeldyno.engines.outputs import compare
from tests import onnx_models
from tests.contracts.engine_contract import EngineContract
from tests.scripts import target

ENGINE = OnnxRuntime()
X = {"x": np.random.default_rng(0).standard_normal((2, 32), dtype=np.float32)}


class TestContract(EngineContract):
    engine = OnnxRuntime()

    @pytest.fixture
    def target(self, tmp_path):
        model = onnx_models.saved(onnx_models.linear(), tmp_path / "m.onnx")
        return target(model, "onnxruntime")


@pytest.fixture(autouse=True)
def in_a_scratch_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def dense(tmp_path):
    """Two matrix products with something between, in float32."""
    return onnx_models.saved(dense_model(), tmp_path / "fp32.onnx")


def dense_model(dtype: str = "float32", kind: int = TensorProto.FLOAT):
    draw = np.random.default_rng(1).standard_normal
    weights = {name: draw((32, 32)).astype(dtype) for name in ("v", "w")}
    return onnx_models.model(
        [
            helper.make_node("MatMul", ["x", "v"], ["a"], name="first"),
            helper.make_node("Relu", ["a"], ["b"], name="between"),
            helper.make_node("MatMul", ["b", "w"], ["y"], name="second"),
        ],
        [onnx_models.value("x", kind, ["batch", 32])],
        [onnx_models.value("y", kind, ["batch", 32])],
        [numpy_helper.from_array(array, name) for name, array in weights.items()],
    )


def examined(path, inputs=X):
    return ENGINE.examine(target(path, "onnxruntime"), inputs)


def optimised_ops(path, tmp_path) -> Counter[str]:
    """The operators that ONNX Runtime will run, found without its profiler."""
    options = onnxruntime.SessionOptions()
    options.optimized_model_filepath = str(tmp_path / "optimised.onnx")
    options.log_severity_level = 3
    onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return Counter(node.op_type for node in load(tmp_path / "optimised.onnx").graph.node)


# ---------------------------------------------------------------- contracts


@pytest.mark.parametrize("contract", ["api", "e2e"])
def test_every_contract_that_returns_outputs_computes_the_same_as_a_run(contract, dense):
    with ENGINE.open(target(dense, "onnxruntime")) as session:
        (expected,) = session.run(X).values()
        outputs: Any = session.bind(X, contract)()
        np.testing.assert_array_equal(outputs[0], expected)


def test_the_hot_contract_really_runs_the_model(dense):
    """Its outputs stay in its own buffers, so the executed kernels are counted instead."""
    options = onnxruntime.SessionOptions()
    options.enable_profiling = True
    with ENGINE.open(target(dense, "onnxruntime")) as session:
        raw = onnxruntime.InferenceSession(dense, options, providers=["CPUExecutionProvider"])
        session.raw = raw
        call = session.bind(X, "hot")
        for _ in range(3):
            call()
    trace = json.loads(Path(raw.end_profiling()).read_text())
    kernels = [event for event in trace if event["name"].endswith("_kernel_time")]
    assert Counter(event["args"]["op_name"] for event in kernels)["MatMul"] == 2 * (1 + 3)


# ---------------------------------------------------------------- precision


def test_a_float32_model_is_computed_in_float32(dense):
    facts, _ = examined(dense)
    assert (facts.precision, facts.nodes_by_provider) == ("fp32", {"CPUExecutionProvider": 3})
    assert facts.input_dtypes == {"x": "float32"}


def test_a_node_in_a_loop_is_counted_once(tmp_path):
    """The loop, and in each of five iterations an addition and a copy."""
    path = onnx_models.saved(onnx_models.loop(), tmp_path / "m.onnx")
    x = {"x": np.ones((1, 4), np.float32)}
    facts, _ = ENGINE.examine(target(path, "onnxruntime"), x)
    assert (facts.nodes_by_provider, facts.kernels) == ({"CPUExecutionProvider": 3}, 11)


def test_a_model_with_quantised_weights_is_computed_in_int8(dense, tmp_path):
    quantize_dynamic(dense, tmp_path / "int8.onnx", weight_type=QuantType.QInt8)
    assert examined(tmp_path / "int8.onnx")[0].precision == "int8"


class Calibration(CalibrationDataReader):  # type: ignore[misc]  # its package has no types
    def __init__(self) -> None:
        self._batches = iter([X])

    def get_next(self):
        return next(self._batches, None)


@pytest.mark.parametrize("form", [QuantFormat.QDQ, QuantFormat.QOperator])
def test_a_statically_quantised_model_is_computed_in_int8(form, dense, tmp_path):
    path = tmp_path / "int8.onnx"
    quantize_static(dense, path, Calibration(), quant_format=form)
    ops = optimised_ops(path, tmp_path)
    assert "MatMul" not in ops
    assert examined(path)[0].precision == "int8"


def test_quantised_numbers_that_are_turned_back_before_computing_are_not_int8(tmp_path):
    """The model takes int8 and ONNX Runtime multiplies floats."""
    nodes = [
        helper.make_node("DequantizeLinear", ["x", "s", "z"], ["a"]),
        helper.make_node("Sigmoid", ["a"], ["b"]),
        helper.make_node("MatMul", ["b", "w"], ["y"]),
    ]
    model = onnx_models.model(
        nodes,
        [onnx_models.value("x", TensorProto.INT8, ["batch", 32])],
        [onnx_models.value("y", TensorProto.FLOAT, ["batch", 3])],
        [
            numpy_helper.from_array(np.array(0.1, dtype=np.float32), "s"),
            numpy_helper.from_array(np.array(0, dtype=np.int8), "z"),
            onnx_models.weight("w", 32, 3),
        ],
    )
    path = onnx_models.saved(model, tmp_path / "stored.onnx")
    assert optimised_ops(path, tmp_path)["MatMul"] == 1
    facts, _ = examined(path, {"x": np.ones((2, 32), dtype=np.int8)})
    assert (facts.precision, facts.input_dtypes) == ("fp32", {"x": "int8"})


def test_the_effective_precision_of_a_float16_model_is_reported(tmp_path):
    """On CPUs without kernels for float16, ONNX Runtime casts and multiplies in float32."""
    model = dense_model("float16", TensorProto.FLOAT16)
    path = onnx_models.saved(model, tmp_path / "fp16.onnx")
    casts = optimised_ops(path, tmp_path)["Cast"]
    facts, _ = examined(path, {"x": X["x"].astype(np.float16)})
    assert facts.input_dtypes == {"x": "float16"}
    assert facts.precision == ("fp32" if casts else "fp16")


def test_a_model_that_computes_nothing_has_no_precision(tmp_path):
    model = onnx_models.model(
        [helper.make_node("Relu", ["x"], ["y"])],
        [onnx_models.value("x", shape=["batch", 32])],
        [onnx_models.value("y", shape=["batch", 32])],
    )
    assert examined(onnx_models.saved(model, tmp_path / "m.onnx"))[0].precision is None


def test_a_model_of_two_precisions_names_both(dense, tmp_path):
    quantize_dynamic(dense, tmp_path / "m.onnx", nodes_to_exclude=["second"])
    assert set(examined(tmp_path / "m.onnx")[0].precision.split("+")) == {"int8", "fp32"}


@pytest.mark.parametrize("name", ['say "hi"', "back\\slash", "line\nbreak", "tab\there", "ünïcode"])
def test_a_node_may_have_any_name(name, tmp_path):
    """ONNX Runtime's profiler writes names without escaping them."""
    model = dense_model()
    for node in model.graph.node:
        node.name = f"{node.name} {name}"
    facts, outputs = examined(onnx_models.saved(model, tmp_path / "m.onnx"))
    assert facts.precision == "fp32"
    assert outputs["y"].shape == (2, 32)


def test_examining_leaves_no_trace_behind(dense, tmp_path):
    examined(dense)
    assert [path.name for path in tmp_path.iterdir()] == ["fp32.onnx"]


# ---------------------------------------------------------------- threads and options


def test_threads_are_counted_and_not_believed(dense):
    with ENGINE.open(Target("onnxruntime", str(dense), threads=2)) as session:
        assert (session.facts.threads, session.facts.spinning) == (2, True)


@pytest.mark.parametrize("spinning", [True, False])
def test_spinning_is_read_back(spinning, dense):
    with ENGINE.open(Target("onnxruntime", str(dense), threads=2, spinning=spinning)) as session:
        assert session.facts.spinning is spinning


def test_a_single_thread_does_not_spin(dense):
    with ENGINE.open(Target("onnxruntime", str(dense), spinning=True)) as session:
        assert session.facts.spinning is None


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"device": "cuda"}, "cannot use device 'cuda' here"),
        ({"precision": "int8"}, "cannot change the precision to 'int8'"),
    ],
)
def test_unsupported_settings_are_refused_with_a_reason(settings, complaint, dense):
    opening = ENGINE.open(Target("onnxruntime", str(dense), **settings))
    with pytest.raises(UserError, match=complaint):
        opening.__enter__()


def test_outputs_are_compared_by_the_size_of_their_numbers(dense):
    with ENGINE.open(target(dense, "onnxruntime")) as session:
        outputs = session.run(X)
    assert compare(outputs, {"y": outputs["y"] * 1.001}).agrees
    assert not compare(outputs, {"y": outputs["y"] * 1.1}).agrees
