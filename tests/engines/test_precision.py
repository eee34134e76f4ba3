"""Precision as it is shown, held against what the engine made of the model, and against its error:
activations of 8 bits cannot be exact, those of 32 are."""

from pathlib import Path

import onnx
import onnxruntime
import pytest

from modeldyno.core.errors import EngineFailed
from modeldyno.core.node_work import family, work_of
from modeldyno.engines.onnxruntime import OnnxRuntime
from modeldyno.engines.openvino import OpenVino
from tests.low_bit_models import BLOCK, LAYERS, WIDTH, X, error, saved
from tests.scripts import target

INT4_INT8 = "int4 weights, int8 activations"
INT4_FP32 = "int4 weights, fp32 activations"
INT8_FP32 = "int8 weights, fp32 activations"
FORMS = (
    *("fp32", "fp16", "bf16", "fp16 weights", "bf16 weights"),
    *("int8 QDQ", "int8 dynamic", "int8 weights", "int4 DequantizeLinear"),
    *(f"int4 MatMulNBits {level}" for level in range(5)),
)


@pytest.fixture(autouse=True)
def in_a_scratch_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


# ---------------------------------------------------------------- what the engine made of a model


def optimised(path: Path) -> onnx.GraphProto:
    options = onnxruntime.SessionOptions()
    options.optimized_model_filepath = str(path.with_suffix(".optimised"))
    options.log_severity_level = 3
    onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return onnx.load(path.with_suffix(".optimised")).graph


_NAMES = {
    **{onnx.TensorProto.FLOAT: "fp32", onnx.TensorProto.FLOAT16: "fp16"},
    **{onnx.TensorProto.INT8: "int8", onnx.TensorProto.INT4: "int4"},
}


def of_onnxruntime(path: Path) -> str:
    """Of all products alike, or the test fails."""
    graph = optimised(path)
    makers = {name: node for node in graph.node for name in node.output}
    kinds = {tensor.name: _NAMES.get(tensor.data_type) for tensor in graph.initializer}
    seen: set[str | None] = set()
    for node in graph.node:
        numbers = {each.name: each.i for each in node.attribute}
        if node.op_type == "MatMulNBits":
            activations = "int8" if numbers["accuracy_level"] == 4 else "fp32"
            seen.add(f"int{numbers['bits']} weights, {activations} activations")
        elif node.op_type in ("QLinearMatMul", "DynamicQuantizeMatMul", "MatMulIntegerToFloat"):
            seen.add("int8")
        elif node.op_type == "MatMul":
            weights = node.input[1]
            if weights in makers:
                assert makers[weights].op_type == "DequantizeLinear"
                seen.add(f"{kinds[makers[weights].input[0]]} weights, fp32 activations")
            else:
                seen.add(kinds[weights])
    (only,) = seen
    assert only is not None
    return only


def of_openvino(path: Path) -> str:
    settings = {"INFERENCE_PRECISION_HINT": "f32", "DYNAMIC_QUANTIZATION_GROUP_SIZE": 0}
    import openvino

    core = openvino.Core()
    model = core.read_model(path)
    model.reshape(list(X["x"].shape))
    compiled = core.compile_model(model, "CPU", settings)
    names = {"f32": "fp32", "bf16": "bf16", "i8": "int8", "u8": "int8", "i4": "int4", "u4": "int4"}
    seen = set()
    for node in compiled.get_runtime_model().get_ordered_ops():
        facts = {name: value.astype(str) for name, value in node.get_rt_info().items()}
        types = [port.get_element_type().get_type_name() for port in node.inputs()]
        if facts["layerType"] == "Subgraph" and "product0" in facts["originalLayersNames"]:
            seen.add("int8" if "i8" in types else names[facts["runtimePrecision"]])
        elif facts["layerType"] == "FullyConnected":
            activations, weights = (names[kind] for kind in types[:2])
            is_alike = activations == weights
            both = f"{weights} weights, {activations} activations"
            seen.add(activations if is_alike else both)
    (only,) = seen
    return only


# ---------------------------------------------------------------- ONNX Runtime


@pytest.mark.parametrize(
    ("form", "precision"),
    [
        ("fp32", "fp32"),
        ("fp16", "fp32"),  # on a CPU without kernels for it: widened, once, when it is loaded
        ("fp16 weights", "fp32"),
        ("bf16 weights", "fp32"),
        ("int8 QDQ", "int8"),
        ("int8 dynamic", "int8"),
        ("int4 MatMulNBits 0", INT4_FP32),
        ("int4 MatMulNBits 1", INT4_FP32),
        ("int4 MatMulNBits 2", INT4_FP32),  # fp16 would do, but its CPU kernels compute in fp32
        ("int4 MatMulNBits 3", INT4_FP32),
        ("int4 MatMulNBits 4", INT4_INT8),
        ("int4 DequantizeLinear", INT4_INT8),  # it becomes MatMulNBits of accuracy level 4
        ("int8 weights", "int8"),  # likewise, with 8 bits
    ],
)
def test_onnxruntime_computes_as_its_optimised_graph_says(form, precision, tmp_path):
    path = saved(form, tmp_path)
    facts, outputs = OnnxRuntime().examine(target(path, "onnxruntime"), X)
    expected = of_onnxruntime(path)
    if expected == "int8 weights, int8 activations":
        expected = "int8"
    assert (facts.precision, expected) == (precision, precision)
    rounds = "int8" in precision
    of_weights = {"fp16": 1e-3, "bf16": 1e-2}.get(form.partition(" ")[0], 1e-5)
    assert (error(outputs) > 1e-3) if rounds else (error(outputs) < of_weights)
    assert not list(tmp_path.glob("tmp*"))  # its optimised graph is removed


def test_weights_that_stay_beside_an_operator_that_widens_them_are_shown_as_stored(tmp_path):
    """ONNX Runtime does not join them where a Relu follows."""
    for form, precision in (("int4 DequantizeLinear", INT4_FP32), ("int8 weights", INT8_FP32)):
        path = saved(form, tmp_path, "Relu")
        facts, outputs = OnnxRuntime().examine(target(path, "onnxruntime"), X)
        assert facts.precision == of_onnxruntime(path) == precision
        assert error(outputs, "Relu") < 1e-5


def test_a_type_that_onnxruntime_cannot_multiply_is_refused_with_its_reason(tmp_path):
    with pytest.raises(EngineFailed) as caught:
        OnnxRuntime().examine(target(saved("bf16", tmp_path), "onnxruntime"), X)
    assert "ONNX Runtime could not load the model" in str(caught.value)
    assert "Could not find an implementation for MatMul" in caught.value.why


def test_products_without_a_name_are_known_too(tmp_path):
    path = saved("int4 MatMulNBits 4", tmp_path)
    model = onnx.load(path)
    for node in model.graph.node:
        node.name = ""
    path.write_bytes(model.SerializeToString())
    facts, _ = OnnxRuntime().examine(target(path, "onnxruntime"), X)
    assert facts.precision == INT4_INT8


def test_products_of_several_precisions_are_all_named(tmp_path):
    path = saved("int4 MatMulNBits 4", tmp_path)
    model = onnx.load(path)
    for node in model.graph.node:
        if node.name == "product1":
            next(each for each in node.attribute if each.name == "accuracy_level").i = 0
    path.write_bytes(model.SerializeToString())
    facts, _ = OnnxRuntime().examine(target(path, "onnxruntime"), X)
    assert facts.precision == f"{INT4_INT8} + {INT4_FP32}"


# ---------------------------------------------------------------- OpenVINO


@pytest.mark.engine("openvino")
@pytest.mark.parametrize("form", FORMS)
def test_openvino_computes_as_its_runtime_graph_says(form, tmp_path):
    path = saved(form, tmp_path)
    facts, outputs = OpenVino().examine(target(path, "openvino"), X)
    expected = of_openvino(path)
    assert facts.precision == expected
    stored = form.split()[0]
    if stored == "int4":
        assert expected == INT4_FP32  # whatever the accuracy level: it does not round activations
    if form == "int8 QDQ":
        assert expected == "int8"
        assert error(outputs) > 1e-3
    if form in ("int8 weights", *(f for f in FORMS if stored == "int4")):
        assert error(outputs) < 1e-5


# ---------------------------------------------------------------- work


def products_of(engine, path, name):
    """Type and operands of what a profile calls a product."""
    asked = target(path, name)
    with engine.open(asked) as session, engine.profiled(asked, session) as profiled:
        call = profiled.bind(X, "api")
        for _ in range(3):
            with profiled.recording():
                call()
        nodes = profiled.trace([True] * 3).nodes
    return [(node.op_type, node.operands) for node in nodes if family(node.op_type) == "product"]


ROWS = len(X["x"])
FEATURES = 4 * ROWS * WIDTH  # bytes of the input or the output of a product
SCALES = 4 * WIDTH * WIDTH // BLOCK


@pytest.mark.parametrize("form", ["int4 DequantizeLinear", "int4 MatMulNBits 0"])
def test_a_profile_counts_the_bytes_that_packed_weights_have(form, tmp_path):
    products = products_of(OnnxRuntime(), saved(form, tmp_path), "onnxruntime")
    assert len(products) == LAYERS
    for kind, operands in products:
        work = work_of(kind, operands)
        assert work.flop == 2 * ROWS * WIDTH * WIDTH
        assert work.bytes == WIDTH * WIDTH / 2 + SCALES + 2 * FEATURES


def test_a_profile_counts_hidden_int8_weights_as_one_byte_each(tmp_path):
    products = products_of(OnnxRuntime(), saved("int8 dynamic", tmp_path), "onnxruntime")
    assert len(products) == LAYERS
    for kind, operands in products:
        moved = work_of(kind, operands).bytes
        assert moved == pytest.approx(WIDTH * WIDTH + 2 * FEATURES, abs=16)  # and two scalars


@pytest.mark.engine("openvino")
def test_a_profile_of_openvino_counts_the_bytes_that_packed_weights_have(tmp_path):
    products = products_of(OpenVino(), saved("int4 MatMulNBits 0", tmp_path), "openvino")
    assert len(products) == LAYERS
    for kind, operands in products:
        moved = work_of(kind, operands).bytes
        assert moved == pytest.approx(WIDTH * WIDTH / 2 + SCALES + 2 * FEATURES, abs=16)
