"""Small ONNX models for tests."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

FLOAT, INT64, STRING = TensorProto.FLOAT, TensorProto.INT64, TensorProto.STRING


def value(name: str, kind: int = FLOAT, shape: Sequence[int | str | None] | None = ()) -> Any:
    return helper.make_tensor_value_info(name, kind, shape)


def weight(name: str, *shape: int, dtype: str = "float32") -> TensorProto:
    return numpy_helper.from_array(np.ones(shape, dtype=dtype), name)


def model(
    nodes: Sequence[NodeProto],
    inputs: Sequence[ValueInfoProto],
    outputs: Sequence[ValueInfoProto],
    weights: Sequence[TensorProto] = (),
    **extra: Any,
) -> ModelProto:
    graph = helper.make_graph(nodes, "g", inputs, outputs, weights)
    extra.setdefault("opset_imports", [helper.make_opsetid("", 17)])
    return helper.make_model(graph, ir_version=8, producer_name="tests", **extra)


def linear(batch: int | str | None = "batch") -> ModelProto:
    """y = x · w + b, with x of four features: 15 parameters."""
    return model(
        [helper.make_node("Gemm", ["x", "w", "b"], ["y"])],
        [value("x", FLOAT, [batch, 4])],
        [value("y", FLOAT, [batch, 3])],
        [weight("w", 4, 3), weight("b", 3)],
    )


def embedding(rows: int = 50) -> ModelProto:
    """Looks up rows of eight features by ``ids``."""
    return model(
        [helper.make_node("Gather", ["table", "ids"], ["y"])],
        [value("ids", INT64, ["batch", "sequence"])],
        [value("y", FLOAT, ["batch", "sequence", 8])],
        [weight("table", rows, 8)],
    )


def saved(made: ModelProto, path: Path) -> Path:
    path.write_bytes(made.SerializeToString())
    return path
