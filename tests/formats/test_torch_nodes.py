"""The graph of a torch.export program, read without PyTorch."""

import json

import pytest

from modeldyno.core.errors import GraphUnavailable, ModelUnreadable
from modeldyno.core.graphs import Attribute, Body, GraphTensor
from modeldyno.formats import catalog
from tests import torch_archives


def tensor(name):
    return {"as_tensor": {"name": name}}


def given(name, argument):
    return {"name": name, "arg": argument, "kind": 1}


def meta(*sizes):
    return {"dtype": 7, "sizes": [{"as_int": size} for size in sizes]}


def call(target, inputs, outputs, name, stack=""):
    return {
        "target": f"torch.ops.{target}",
        "inputs": inputs,
        "outputs": [tensor(output) for output in outputs],
        "metadata": {"nn_module_stack": stack},
        "name": name,
    }


def archive(path, nodes, values, outputs=("y",)):
    document = {
        "graph_module": {
            "graph": {
                "inputs": [tensor("p_w"), tensor("x")],
                "outputs": [tensor(name) for name in outputs],
                "nodes": nodes,
                "tensor_values": values,
            },
            "signature": {
                "input_specs": [
                    {"parameter": {"arg": {"name": "p_w"}, "parameter_name": "fc.weight"}},
                    {"user_input": {"arg": tensor("x")}},
                ],
                "output_specs": [],
            },
        }
    }
    members: dict[str, bytes | str] = {
        "archive_format": "pt2",
        "models/model.json": json.dumps(document),
    }
    return torch_archives.archive_of(path, members)


STACK = "L__self__,,m.Net;L__self__fc,fc,torch.nn.Linear"


@pytest.fixture
def linear(tmp_path):
    nodes = [
        call(
            "aten.linear.default",
            [given("input", tensor("x")), given("weight", tensor("p_w"))],
            ["h"],
            "linear",
            STACK,
        ),
        call(
            "aten.sum.dim_IntList",
            [
                given("self", tensor("h")),
                given("dim", {"as_ints": [1, 2]}),
                given("dtype", {"as_scalar_type": 5}),
                given("keepdim", {"as_bool": True}),
                given("scale", {"as_float": 0.5}),
                given("mode", {"as_none": True}),
            ],
            ["y"],
            "sum_1",
        ),
    ]
    values = {"p_w": meta(3, 4), "x": meta(2, 4), "h": meta(2, 3), "y": meta(2)}
    return archive(tmp_path / "net.pt2", nodes, values)


def test_nodes_modules_weights_and_settings_are_read(linear):
    graph = catalog.read_graph(linear)
    assert [(n.id, n.op, n.scope, n.inputs, n.outputs) for n in graph.nodes] == [
        ("linear", "aten.linear", "fc", ("x", "fc.weight"), ("h",)),
        ("sum_1", "aten.sum.dim_IntList", "", ("h",), ("y",)),
    ]
    assert graph.nodes[1].attributes == (
        Attribute("dim", "ints", (1, 2)),
        Attribute("dtype", "dtype", "int64"),
        Attribute("keepdim", "bool", True),
        Attribute("scale", "float", 0.5),
        Attribute("mode", "none", None),
    )
    assert graph.tensors[:2] == (
        GraphTensor("fc.weight", "fc.weight", "initializer", "float32", (3, 4)),
        GraphTensor("x", "x", "input", "float32", (2, 4)),
    )
    assert (graph.format, graph.inputs, graph.outputs) == ("torch-export", ("x",), ("y",))
    assert [(e.source, e.target, e.tensor.shape) for e in graph.edges] == [
        ("linear", "sum_1", (2, 3))
    ]
    assert graph.notes == ()


def test_branches_are_scopes(tmp_path):
    def branch(op):
        return {
            "as_graph": {
                "name": f"{op}_graph",
                "graph": {
                    "inputs": [tensor("arg")],
                    "outputs": [tensor("out")],
                    "nodes": [call(f"aten.{op}.default", [given("self", tensor("arg"))], ["out"],
                                   op)],
                    "tensor_values": {"arg": meta(2), "out": meta(2)},
                },
            }
        }  # fmt: skip

    inputs = [
        given("pred", tensor("x")),
        given("true_fn", branch("relu")),
        given("false_fn", branch("neg")),
        given("operands", {"as_tensors": [{"name": "x"}, {"name": "p_w"}]}),
    ]
    nodes = [call("higher_order.cond", inputs, ["y"], "cond")]
    path = archive(tmp_path / "net.pt2", nodes, {"x": meta(), "p_w": meta(2), "y": meta(2)})
    graph = catalog.read_graph(path)
    assert [(n.id, n.scope) for n in graph.nodes] == [
        ("cond", ""),
        ("relu", "cond[true_fn]"),
        ("neg", "cond[false_fn]"),
    ]
    assert graph.nodes[0].inputs == ("x", "x", "fc.weight")
    assert graph.bodies[0] == Body("cond[true_fn]", "relu_graph", "subgraph", ("arg",), ("out",))


@pytest.mark.parametrize(
    "nodes",
    [
        None, 7, [7], [{}], [{"target": "x", "inputs": 3, "outputs": []}],
        [{"target": "x", "inputs": [{"arg": {}}], "outputs": []}],
        [{"target": "x", "inputs": [], "outputs": [{"as_tensor": 5}]}],
        [{"target": "x", "inputs": [], "outputs": [], "metadata": 5}],
    ],
    ids=str,
)  # fmt: skip
def test_a_damaged_graph_is_unreadable_and_no_crash(nodes, tmp_path):
    path = archive(tmp_path / "net.pt2", nodes, {})
    with pytest.raises(ModelUnreadable):
        catalog.read_graph(path)


def test_an_endless_list_of_nodes_is_refused_by_its_number(tmp_path):
    path = archive(tmp_path / "net.pt2", [{}] * 100_001, {})
    with pytest.raises(GraphUnavailable, match="too large to show") as caught:
        catalog.read_graph(path)
    assert "100001 nodes" in caught.value.why


def test_torchscript_and_checkpoints_say_which_formats_have_a_graph(tmp_path):
    script = torch_archives.torchscript(tmp_path / "a.pt", "x: Tensor")
    weights = torch_archives.checkpoint(
        tmp_path / "b.pt", torch_archives.tensor_pickle(("w", "FloatStorage", (2,)))
    )
    for path, what in ((script, "TorchScript"), (weights, "checkpoint")):
        with pytest.raises(GraphUnavailable) as caught:
            catalog.read_graph(path)
        assert what in caught.value.why
        assert "ONNX files, torch.export programs" in caught.value.why
