"""The same three products of 256 × 256 in every precision: what each computes is known exactly."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper
from onnxruntime.quantization import CalibrationDataReader, quantize_dynamic, quantize_static

from tests.onnx_models import FLOAT, value

WIDTH, BLOCK, LAYERS = 256, 32, 3
_BLOCKS = WIDTH // BLOCK
_DRAW = np.random.default_rng(3)
CODES = _DRAW.integers(-7, 8, (LAYERS, WIDTH, WIDTH))
SCALES = _DRAW.uniform(0.5, 1.5, (LAYERS, _BLOCKS, WIDTH)).astype(np.float32) / 64
WEIGHTS = (CODES * np.repeat(SCALES, BLOCK, axis=1)).astype(np.float32)
X = {"x": _DRAW.standard_normal((4, WIDTH), dtype=np.float32)}


def exact(between: str) -> Any:
    """The outputs, in float64."""
    out = X["x"].astype(np.float64)
    for layer in WEIGHTS.astype(np.float64):
        out = np.tanh(out @ layer) if between == "Tanh" else np.maximum(out @ layer, 0)
    return out


def error(outputs: Mapping[str, Any], between: str = "Tanh") -> float:
    """As a share of the largest value."""
    expected, (out,) = exact(between), outputs.values()
    return float(np.abs(out.astype(np.float64) - expected).max() / expected.max())


def saved(form: str, folder: Path, between: str = "Tanh") -> Path:
    """``fp16``, ``fp16 weights``, ``int8 QDQ``, ``int4 MatMulNBits 4`` …; after each product comes
    the operator ``between``."""
    path = folder / f"{form.replace(' ', '-')}.onnx"
    if form in ("int8 dynamic", "int8 QDQ"):
        whole = saved("fp32", folder, between)
        if form == "int8 dynamic":
            quantize_dynamic(whole, path)
        else:
            quantize_static(whole, path, _Calibration())
        return path
    layers = [_layer(n, *form.split()) for n in range(LAYERS)]
    made = _made(layers, form if form in _KINDS else "fp32", between)
    path.write_bytes(made.SerializeToString())
    return path


_Layer = tuple[list[NodeProto], list[TensorProto]]
_KINDS = {
    "fp32": (TensorProto.FLOAT, np.float32),
    "fp16": (TensorProto.FLOAT16, np.float16),
    "bf16": (TensorProto.BFLOAT16, ml_dtypes.bfloat16),
}


def _layer(n: int, kind: str, how: str = "", level: str = "") -> _Layer:
    match kind, how:
        case "int4", "MatMulNBits":
            return _packed(n, int(level))
        case "int4", _:
            return _dequantised(n, ml_dtypes.int4)
        case "int8", _:
            return _dequantised(n, np.int8)
        case _, "weights":
            return _widened(n, kind)
        case _:
            return _plain(n, kind)


def _made(layers: Sequence[_Layer], kind: str, between: str) -> ModelProto:
    """Computes in ``kind`` between an input and an output of float32."""
    nodes = [helper.make_node("Cast", ["x"], ["h0"], to=_KINDS[kind][0])]
    for number, (own, _) in enumerate(layers):
        nodes += [*own, helper.make_node(between, [f"p{number}"], [f"h{number + 1}"])]
    nodes.append(helper.make_node("Cast", [f"h{LAYERS}"], ["y"], to=FLOAT))
    graph = helper.make_graph(
        nodes,
        "low_bit",
        [value("x", FLOAT, ["batch", WIDTH])],
        [value("y", FLOAT, ["batch", WIDTH])],
        [tensor for _, tensors in layers for tensor in tensors],
    )
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def _plain(n: int, kind: str) -> _Layer:
    weights = numpy_helper.from_array(WEIGHTS[n].astype(_KINDS[kind][1]), f"w{n}")
    return [_product(n, f"w{n}")], [weights]


def _widened(n: int, kind: str) -> _Layer:
    weights = numpy_helper.from_array(WEIGHTS[n].astype(_KINDS[kind][1]), f"w{n}")
    cast = helper.make_node("Cast", [f"w{n}"], [f"d{n}"], to=FLOAT)
    return [cast, _product(n, f"d{n}")], [weights]


def _dequantised(n: int, kind: Any) -> _Layer:
    weights = numpy_helper.from_array(CODES[n].astype(kind), f"w{n}")
    widen = helper.make_node(
        "DequantizeLinear", [f"w{n}", f"s{n}"], [f"d{n}"], axis=0, block_size=BLOCK
    )
    scales = numpy_helper.from_array(SCALES[n], f"s{n}")
    return [widen, _product(n, f"d{n}")], [weights, scales]


def _packed(n: int, level: int) -> _Layer:
    codes = (CODES[n].T + 8).astype(np.uint8).reshape(WIDTH, _BLOCKS, BLOCK)
    packed = codes[..., ::2] | codes[..., 1::2] << 4
    node = helper.make_node(
        "MatMulNBits",
        [f"h{n}", f"w{n}", f"s{n}"],
        [f"p{n}"],
        name=f"product{n}",
        domain="com.microsoft",
        K=WIDTH,
        N=WIDTH,
        bits=4,
        block_size=BLOCK,
        accuracy_level=level,
    )
    scales = numpy_helper.from_array(np.ascontiguousarray(SCALES[n].T).ravel(), f"s{n}")
    return [node], [numpy_helper.from_array(packed, f"w{n}"), scales]


def _product(n: int, weights: str) -> NodeProto:
    return helper.make_node("MatMul", [f"h{n}", weights], [f"p{n}"], name=f"product{n}")


class _Calibration(CalibrationDataReader):  # type: ignore[misc]  # its package has no types
    def __init__(self) -> None:
        self._batches = iter([X])

    def get_next(self) -> Any:
        return next(self._batches, None)
