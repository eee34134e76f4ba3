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


def tokens(width: int = 16) -> ModelProto:
    """[batch, seq, width] → the same shape: how long a sequence is, whoever runs it decides."""
    shape = ("batch", "seq", width)
    return model(
        [helper.make_node("MatMul", ["x", "W"], ["y"])],
        [value("x", shape=shape)],
        [value("y", shape=shape)],
        [weight("W", width, width)],
    )


def decoder(layers: int = 2, heads: int = 2, features: int = 4, rows: int = 100) -> ModelProto:
    """A language model with a cache: causal attention over past and new tokens, told apart by
    their positions, and a mask of what to attend to."""
    width = heads * features
    random = np.random.default_rng(5)
    weights: list[TensorProto] = []
    nodes: list[NodeProto] = []

    def constant(name: str, array: Any) -> str:
        weights.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def node(op: str, inputs: Sequence[str], output: str, **attributes: Any) -> str:
        nodes.append(helper.make_node(op, inputs, [output], **attributes))
        return output

    def drawn(name: str, *shape: int) -> str:
        return constant(name, random.normal(0, 0.5, shape).astype("float32"))

    table, places = drawn("table", rows, width), drawn("places", 600, width)
    scale = constant("scale", np.float32(features**-0.5))
    never = constant("never", np.float32(-1e9))
    axes = {n: constant(f"axis{n}", np.array([n], "int64")) for n in (1, 2)}
    by_head = constant("by_head", np.array([0, 0, heads, features], "int64"))
    joined = constant("joined", np.array([0, 0, width], "int64"))
    zero, one = constant("zero", np.int64(0)), constant("one", np.int64(1))

    total = node("Gather", [node("Shape", ["attention_mask"], "mask_shape"), one], "total")
    keys = node("Range", [zero, total, one], "keys")
    queries = node("Unsqueeze", ["position_ids", axes[2]], "queries")
    is_earlier = node("LessOrEqual", [keys, queries], "is_earlier")
    is_there = node("Cast", ["attention_mask"], "mask", to=TensorProto.BOOL)
    is_there = node("Unsqueeze", [is_there, axes[1]], "is_there")
    is_seen = node("And", [is_earlier, is_there], "is_seen")
    is_seen = node("Unsqueeze", [is_seen, axes[1]], "is_seen_by_heads")
    x = node(
        "Add",
        [
            node("Gather", [table, "input_ids"], "words"),
            node("Gather", [places, "position_ids"], "ordered"),
        ],
        "x",
    )
    for n in range(layers):

        def split(what: str, x: str = x, n: int = n) -> str:
            flat = node("MatMul", [x, drawn(f"w{what}{n}", width, width)], f"{what}{n}_flat")
            heads_last = node("Reshape", [flat, by_head], f"{what}{n}_heads")
            return node("Transpose", [heads_last], f"{what}{n}", perm=[0, 2, 1, 3])

        query = split("q")
        both = {
            what: node(
                "Concat",
                [f"past_key_values.{n}.{what}", split(what)],
                f"present.{n}.{what}",
                axis=2,
            )
            for what in ("key", "value")
        }
        turned = node("Transpose", [both["key"]], f"turned{n}", perm=[0, 1, 3, 2])
        raw = node("Mul", [node("MatMul", [query, turned], f"raw{n}"), scale], f"scaled{n}")
        attended = node("Where", [is_seen, raw, never], f"attended{n}")
        shares = node("Softmax", [attended], f"shares{n}", axis=-1)
        mixed = node("MatMul", [shares, both["value"]], f"mixed{n}")
        mixed = node("Transpose", [mixed], f"mixed{n}_back", perm=[0, 2, 1, 3])
        mixed = node("Reshape", [mixed, joined], f"mixed{n}_flat")
        mixed = node("MatMul", [mixed, drawn(f"out{n}", width, width)], f"mixed{n}_out")
        x = node("Add", [x, mixed], f"x{n}")
    node("MatMul", [x, node("Transpose", [table], "words_back", perm=[1, 0])], "logits")

    past: list[int | str] = ["batch_size", heads, "past_sequence_length", features]
    present: list[int | str] = ["batch_size", heads, "total_sequence_length", features]
    tokens: list[int | str] = ["batch_size", "sequence_length"]
    names = [f"{n}.{what}" for n in range(layers) for what in ("key", "value")]
    return model(
        nodes,
        [
            value("input_ids", INT64, tokens),
            value("attention_mask", INT64, ["batch_size", "past_sequence_length + 1"]),
            value("position_ids", INT64, tokens),
            *(value(f"past_key_values.{name}", FLOAT, past) for name in names),
        ],
        [
            value("logits", FLOAT, [*tokens, rows]),
            *(value(f"present.{name}", FLOAT, present) for name in names),
        ],
        weights,
    )


def saved(made: ModelProto, path: Path) -> Path:
    path.write_bytes(made.SerializeToString())
    return path


# ---------------------------------------------------------------- what not every engine runs


def misdeclared_rank() -> ModelProto:
    """Declares y as [batch, 4]; with a batch of one it is [4]. No shape inference notices."""
    return model(
        [helper.make_node("Squeeze", ["x"], ["s"]), helper.make_node("Relu", ["s"], ["y"])],
        [value("x", FLOAT, ["batch", 4])],
        [value("y", FLOAT, ["batch", 4])],
    )


def tree_ensemble() -> ModelProto:
    """One tree of one split: 1 where the first feature is at most 0, else 2."""
    tree = helper.make_node(
        "TreeEnsembleRegressor",
        ["x"],
        ["y"],
        domain="ai.onnx.ml",
        nodes_treeids=[0, 0, 0],
        nodes_nodeids=[0, 1, 2],
        nodes_featureids=[0, 0, 0],
        nodes_modes=["BRANCH_LEQ", "LEAF", "LEAF"],
        nodes_values=[0.0, 0.0, 0.0],
        nodes_truenodeids=[1, 0, 0],
        nodes_falsenodeids=[2, 0, 0],
        target_treeids=[0, 0],
        target_nodeids=[1, 2],
        target_ids=[0, 0],
        target_weights=[1.0, 2.0],
        n_targets=1,
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
    x, y = value("x", FLOAT, ["batch", 4]), value("y", FLOAT, ["batch", 1])
    return model([tree], [x], [y], opset_imports=opsets)


def spectrum() -> ModelProto:
    """STFT of 256 samples in frames of 128."""
    sizes = (("step", 64), ("length", 128))
    return model(
        [helper.make_node("STFT", ["signal", "step", "", "length"], ["y"])],
        [value("signal", FLOAT, [1, 256, 1])],
        [value("y", FLOAT, [1, None, None, 2])],
        [numpy_helper.from_array(np.array(size, "int64"), name) for name, size in sizes],
    )


def loop() -> ModelProto:
    """Adds one, five times."""
    body = helper.make_graph(
        [
            helper.make_node("Add", ["sum", "one"], ["next"]),
            helper.make_node("Identity", ["go_on"], ["goes_on"]),
        ],
        "body",
        [value("i", INT64), value("go_on", TensorProto.BOOL), value("sum", FLOAT, [1, 4])],
        [value("goes_on", TensorProto.BOOL), value("next", FLOAT, [1, 4])],
        [weight("one", 1, 4)],
    )
    return model(
        [helper.make_node("Loop", ["times", "go", "x"], ["y"], body=body)],
        [value("x", FLOAT, [1, 4])],
        [value("y", FLOAT, [1, 4])],
        [
            numpy_helper.from_array(np.array(5, "int64"), "times"),
            numpy_helper.from_array(np.array(True), "go"),
        ],
    )


def sequence_output() -> ModelProto:
    """Gives the four columns of x as a sequence."""
    return model(
        [helper.make_node("SplitToSequence", ["x"], ["y"], axis=1)],
        [value("x", FLOAT, [1, 4])],
        [helper.make_tensor_sequence_value_info("y", FLOAT, [1, 1])],
    )


def sequence_input() -> ModelProto:
    return model(
        [helper.make_node("ConcatFromSequence", ["xs"], ["y"], axis=0)],
        [helper.make_tensor_sequence_value_info("xs", FLOAT, [1, 4])],
        [value("y", FLOAT, [None, 4])],
    )


def optional_output() -> ModelProto:
    return model(
        [helper.make_node("Relu", ["x"], ["r"]), helper.make_node("Optional", ["r"], ["y"])],
        [value("x", FLOAT, [1, 4])],
        [helper.make_value_info("y", _optional(FLOAT, [1, 4]))],
    )


def optional_input() -> ModelProto:
    return model(
        [helper.make_node("OptionalGetElement", ["x"], ["y"])],
        [helper.make_value_info("x", _optional(FLOAT, [1, 4]))],
        [value("y", FLOAT, [1, 4])],
        opset_imports=[helper.make_opsetid("", 18)],
    )


def _optional(kind: int, shape: Sequence[int | str | None]) -> Any:
    return helper.make_optional_type_proto(helper.make_tensor_type_proto(kind, shape))
