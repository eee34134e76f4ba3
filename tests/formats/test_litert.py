"""LiteRT files, read without LiteRT: what they say, their graph, and what is refused."""

import numpy as np
import pytest

from modeldyno.core.errors import GraphUnavailable, ModelUnreadable, UserError
from modeldyno.core.models import (
    IndexRange,
    InputSpec,
    TensorNames,
    TensorSpec,
    names_of,
    serving_signature,
)
from modeldyno.formats import catalog, graph_building
from tests.litert_files import (
    CUSTOM,
    GATHER,
    IF,
    IF_OPTIONS,
    INT8,
    INT32,
    RELU,
    Table,
    graph,
    linear,
    model,
    operator,
    operator_code,
    saved,
    tensor,
    written,
)


def test_inputs_operators_and_weights_are_read(tmp_path):
    path = saved(tmp_path / "m.tflite")
    facts = catalog.read(path)
    assert (facts.format, facts.framework, facts.ir_version) == ("litert", "litert", 3)
    assert facts.inputs == (InputSpec("x", "float32", (None, 4)),)
    assert facts.outputs == (TensorSpec("y", "float32", (None, 3)),)
    assert (facts.parameters, facts.weights_by_dtype) == (12, {"float32": 12})
    assert (facts.nodes_by_op, facts.producer) == ({"FULLY_CONNECTED": 1}, "written by hand")
    assert facts.notes == ()
    assert facts.size_bytes == path.stat().st_size


def test_its_name_does_not_matter(tmp_path):
    assert catalog.read(saved(tmp_path / "network.onnx")).format == "litert"


def test_its_graph_has_operators_settings_weights_and_groups(tmp_path):
    found = catalog.read_graph(saved(tmp_path / "m.tflite"))
    (node,) = found.nodes
    assert (node.op_type, node.scope, node.label) == ("FULLY_CONNECTED", "net/dense", "Relu")
    assert {a.name: a.value for a in node.attributes}["activation"] == "relu"
    assert node.inputs == ("x", "net/dense/MatMul", "")  # it has no bias
    kinds = {tensor.id: (tensor.kind, tensor.shape) for tensor in found.tensors}
    assert kinds == {
        "x": ("input", (None, 4)),
        "net/dense/MatMul": ("initializer", (3, 4)),
        "y": ("node", (None, 3)),
    }
    assert (found.inputs, found.outputs, found.notes) == (("x",), ("y",), ())


def test_branches_are_graphs_inside_the_graph(tmp_path):
    options = Table({0: ("Int32", 1), 1: ("Int32", 2)})
    branch = graph([tensor("a", [2]), tensor("b", [2])], [0], [1], [operator(1, [0], [1])], "then")
    made = model(
        [operator_code(IF), operator_code(RELU)],
        [
            graph(
                [tensor("c", [1], dtype=6), tensor("x", [2]), tensor("y", [2])],
                *([0, 1], [2], [operator(0, [0, 1], [2], options, IF_OPTIONS)]),
            ),
            branch,
            branch,
        ],
        [],
    )
    found = catalog.read_graph(saved(tmp_path / "m.tflite", made))
    assert [node.op_type for node in found.nodes] == ["IF", "RELU", "RELU"]
    assert [body.name for body in found.bodies] == ["then", "else"]


def test_quantisation_and_custom_operators_are_noted(tmp_path):
    made = model(
        [operator_code(CUSTOM, "Odd")],
        [
            graph(
                [
                    tensor("x", [1, 4], dtype=INT8, scale=0.5),
                    tensor("bias", [4], 1, dtype=INT32, scale=0.25),
                    tensor("shape", [4], 2, dtype=INT32),
                ],
                *([0], [0], [operator(0, [0, 1], [0])]),
            )
        ],
        [b"\1" * 16, b"\1" * 16],
    )
    facts = catalog.read(saved(tmp_path / "m.tflite", made))
    assert facts.weights_by_dtype == {"int32": 4}  # a bias is learned, a shape is not
    assert "(Odd)" in facts.notes[0]
    assert "x is quantised: int8, scale 0.5, zero point 0" in facts.notes


def test_an_input_that_indexes_a_table_stays_inside_it(tmp_path):
    made = model(
        [operator_code(GATHER)],
        [
            graph(
                [
                    tensor("ids", [1, 2], dtype=INT32),
                    tensor("w", [5, 2], 1),
                    tensor("y", [1, 2, 2]),
                ],
                *([0], [2], [operator(0, [1, 0], [2])]),
            )
        ],
        [b"\0" * 40],
    )
    (ids,) = catalog.read(saved(tmp_path / "m.tflite", made)).inputs
    assert ids.indices == IndexRange(0, 5, "indexes an embedding of 5 rows")


# ---------------------------------------------------------------- names


def test_a_signature_names_inputs_whatever_the_order_of_its_entries():
    one, other = TensorNames("a", {"x": 3}, {}), TensorNames("b", {"z": 3}, {})
    assert serving_signature([other, one], [3]) is one
    assert serving_signature([TensorNames("a", {"x": 1}, {})], [3]) is None
    assert names_of([3, 4, 5], {"x": 3, "w": 3}, ["t", "u", "u"]) == ["w", "u", "u#2"]


# ---------------------------------------------------------------- hostile files

GOOD = written(linear())


@pytest.mark.parametrize(
    ("made", "complaint"),
    [
        (linear(version=2), "version 2 of the format"),
        (linear(operators=[operator(7, [0, 1], [2])]), "has the type 7, and there are 1"),
        (linear(operators=[operator(0, [0, 99], [2])]), "tensors that do not exist"),
        (linear(operators=[operator(0, [0, -2], [2])]), "tensors that do not exist"),
        (model([operator_code(9)], [graph([tensor("x", [1] * 65)], [0], [0], [])], []), "65"),
        (model([operator_code(9)], [graph([tensor("x", [1], 8)], [0], [0], [])], []), "not exist"),
        (Table({**linear().fields, 9: [Table()]}), "weights in other files"),
        (Table({0: ("Uint32", 3)}), "has no graph"),
    ],
)  # fmt: skip
def test_files_that_are_not_models_are_refused_with_a_reason(made, complaint, tmp_path):
    path = saved(tmp_path / "m.tflite", made)
    with pytest.raises(ModelUnreadable, match="is a damaged LiteRT model") as caught:
        catalog.read(path)
    assert complaint.replace("65", "more than 64 dimensions") in caught.value.why


@pytest.mark.parametrize("length", [8, 12, 40, len(GOOD) // 2, len(GOOD) - 20])
def test_a_truncated_file_is_refused(length, tmp_path):
    path = tmp_path / "m.tflite"
    path.write_bytes(GOOD[:length])
    with pytest.raises(ModelUnreadable, match="damaged LiteRT model"):
        catalog.read(path)


@pytest.mark.parametrize("seed", range(40))
def test_a_file_with_broken_bytes_raises_and_does_no_more(seed, tmp_path):
    """Whatever is in it: an error of ours, or a model."""
    randomness = np.random.default_rng(seed)
    data = bytearray(GOOD)
    for place in randomness.integers(8, len(data), 6):
        data[place] = randomness.integers(0, 256)
    path = tmp_path / "m.tflite"
    path.write_bytes(bytes(data))
    for look in (catalog.read, catalog.read_graph):
        try:
            look(path)
        except UserError:
            continue


def test_a_small_file_whose_parts_are_read_again_and_again_is_refused(tmp_path):
    """Each of 50,000 operators is the same one, with the same 50,000 inputs."""
    one = operator(0, [0] * 50_000, [2])
    path = saved(tmp_path / "m.tflite", linear(operators=[one] * 50_000))
    assert path.stat().st_size < 1 << 20
    with pytest.raises(ModelUnreadable) as caught:
        catalog.read(path)
    assert "refer to each other repeatedly" in caught.value.why


def test_a_graph_too_large_to_be_shown_can_be_measured_all_the_same(tmp_path, monkeypatch):
    monkeypatch.setattr(graph_building, "MOST_NODES", 0)
    path = saved(tmp_path / "m.tflite")
    assert catalog.read(path).nodes == 1
    with pytest.raises(GraphUnavailable, match="too large"):
        catalog.read_graph(path)
