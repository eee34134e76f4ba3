"""Models of known relative cost, made on the spot: the same bytes every time.

A stack of 105 equal layers does 5 % more work than one of 100; a call's own cost dilutes that to
about 4.5 %. Weights are seeded and orthogonal, so values neither vanish nor explode (denormals
would be slow for a reason of their own), and no graph optimizer can fold them. Layers are narrow
and their input has many rows: both sides of a pair then fit the level-2 cache together, and what
differs between two stacks is work.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import helper, numpy_helper

OPSET, IR_VERSION = 17, 9
ROWS, WIDTH = 20, 16  # of a stack's input: about 0.9 µs for each layer
BIAS = 0.01
CHANNELS, IMAGE, CONVOLUTIONS = 32, 48, 29  # 7 to 10 ms
FLOAT = onnx.TensorProto.FLOAT


def write_stack(folder: Path, layers: int) -> Path:
    """``layers`` equal Gemm layers; 100 of them take about 100 µs."""
    return _save_model(folder / f"stack{layers}.onnx", _gemm_layers(layers, WIDTH), (ROWS, WIDTH))


def write_shortest(folder: Path) -> Path:
    """One small layer: about 5 µs, of which nearly all is the call itself."""
    return _save_model(folder / "shortest.onnx", _gemm_layers(1, 4), (1, 4))


def write_short(folder: Path) -> Path:
    """Four small layers: about 10 µs."""
    return _save_model(folder / "short.onnx", _gemm_layers(4, WIDTH), (1, WIDTH))


def write_convnet(folder: Path) -> Path:
    """Convolutions that take more than 5 ms: longer than a scheduler lets one run undisturbed."""
    nodes, weights = [], []
    for i in range(CONVOLUTIONS):
        before, after = _input_and_output_name(i, CONVOLUTIONS)
        kernel = _orthogonal_matrix(i, 9 * CHANNELS)[:CHANNELS].reshape(CHANNELS, CHANNELS, 3, 3)
        weights.append(numpy_helper.from_array(kernel, f"w{i}"))
        nodes.append(helper.make_node("Conv", [before, f"w{i}"], [after], pads=[1, 1, 1, 1]))
    shape = (1, CHANNELS, IMAGE, IMAGE)
    return _save_model(folder / "convnet.onnx", (nodes, weights), shape)


def write_memory_bound(folder: Path) -> Path:
    """50 MB of weights that each call reads once, more than most caches hold: its time is that of
    the memory."""
    return _save_model(folder / "memory.onnx", _gemm_layers(12, 1024), (1, 1024))


Layers = tuple[list[onnx.NodeProto], list[onnx.TensorProto]]


def _gemm_layers(layers: int, width: int) -> Layers:
    nodes, weights = [], []
    for i in range(layers):
        before, after = _input_and_output_name(i, layers)
        bias = np.random.default_rng((i, 1)).normal(0, BIAS, width).astype(np.float32)
        weights.append(numpy_helper.from_array(_orthogonal_matrix(i, width), f"w{i}"))
        weights.append(numpy_helper.from_array(bias, f"b{i}"))
        nodes.append(helper.make_node("Gemm", [before, f"w{i}", f"b{i}"], [after]))
    return nodes, weights


def _input_and_output_name(layer: int, layers: int) -> tuple[str, str]:
    return "x" if layer == 0 else f"h{layer}", "y" if layer + 1 == layers else f"h{layer + 1}"


def _orthogonal_matrix(seed: int, width: int) -> NDArray[np.float32]:
    """A rotation: it changes every value and keeps their size."""
    return np.linalg.qr(np.random.default_rng(seed).standard_normal((width, width)))[0].astype(
        np.float32
    )


def _save_model(path: Path, layers: Layers, shape: tuple[int, ...]) -> Path:
    nodes, weights = layers
    ends = [helper.make_tensor_value_info(name, FLOAT, shape) for name in ("x", "y")]
    graph = helper.make_graph(nodes, path.stem, ends[:1], ends[1:], weights)
    model = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION
    )
    onnx.checker.check_model(model)
    path.write_bytes(model.SerializeToString())
    return path
