"""Graphs made to hurt: each ends in a graph with a note or a clear error, within every bound."""

import pytest
from onnx import ModelProto, TensorProto, helper

import modeldyno
from modeldyno.core.errors import GraphUnavailable, UserError, WorkerGarbled
from modeldyno.core.graphs import LARGEST_BYTES, MOST_NODES, NOT_IN_TIME
from modeldyno.formats import graph_building
from modeldyno.formats.onnx.graph import read_graph
from modeldyno.graphs.rows import to_rows
from modeldyno.jobs import graph as graph_job
from modeldyno.worker.messages import LONGEST_MESSAGE, GraphRead, pack
from tests.onnx_models import FLOAT, model, saved, value


def made(nodes, tmp_path, **more):
    built = model(nodes, [value("x", FLOAT, [2])], [value("y", FLOAT, [2])], **more)
    return saved(built, tmp_path / "hostile.onnx")


def relu(number, **more):
    return helper.make_node("Relu", [f"t{number}"], [f"t{number + 1}"], **more)


def frame(graph):
    return len(pack(GraphRead(to_rows(graph))))


def test_the_largest_graph_fits_into_a_message():
    assert LARGEST_BYTES < LONGEST_MESSAGE


@pytest.mark.slow
def test_a_million_nodes_are_refused_by_their_number(tmp_path):
    """Written by hand: the same node a million times."""
    one = helper.make_node("Relu", ["x"], ["y"]).SerializeToString()
    nodes = b"".join([b"\x0a" + _varint(len(one)) + one]) * 1_000_000
    whole = ModelProto(ir_version=8, opset_import=[helper.make_opsetid("", 17)])
    data = whole.SerializeToString() + b"\x3a" + _varint(len(nodes)) + nodes
    path = tmp_path / "million.onnx"
    path.write_bytes(data)
    with pytest.raises(GraphUnavailable) as caught:
        modeldyno.graph(path, workspace=tmp_path / "workspace")
    assert caught.value.why == f"it has 1000000 nodes; up to {MOST_NODES} can be shown"


def _varint(value):
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def test_long_names_are_cut_and_stay_apart(tmp_path):
    name = "n" * 1_000_000
    nodes = [relu(number, name=name + str(number)) for number in range(5)]
    graph = read_graph(made(nodes, tmp_path))
    assert len({node.id for node in graph.nodes}) == 5
    assert max(len(node.name) for node in graph.nodes) == graph_building.LONGEST_NAME
    assert "names of more than 256 characters are cut" in graph.notes
    assert frame(graph) < 100_000


def test_names_that_together_are_too_much_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(graph_building, "LARGEST_BYTES", 1 << 16)
    nodes = [relu(number, name="\U0001f4a3" * 200 + str(number)) for number in range(100)]
    with pytest.raises(GraphUnavailable, match="too large to show"):
        read_graph(made(nodes, tmp_path))


@pytest.mark.parametrize("letter", ["n", '"', "\\", "\x01", "é", "\U0001f4a3"])
def test_what_is_counted_is_never_less_than_what_is_sent(letter, tmp_path):
    """The budget of a builder is an upper bound of the JSON, whatever the names are made of."""
    nodes = [
        helper.make_node(letter * 9, [letter, f"t{i}"], [f"t{i + 1}"], name=letter * 40 + f"/{i}",
                         k=[1, 2, 3], s=letter * 50, f=[0.1] * 9)
        for i in range(200)
    ]  # fmt: skip
    path = made(nodes, tmp_path)
    builders = []

    class Watched(graph_building.GraphBuilder):
        def __init__(self, path):
            super().__init__(path)
            builders.append(self)

    from modeldyno.formats.onnx import graph as onnx_nodes

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(onnx_nodes, "GraphBuilder", Watched)
        graph = read_graph(path, infer_shapes=False)
    (builder,) = builders
    assert frame(graph) < LARGEST_BYTES - builder._bytes_left


def test_attributes_by_the_thousand_are_counted_and_not_shown(tmp_path):
    node = helper.make_node("Relu", ["x"], ["y"])
    node.attribute.extend(helper.make_attribute(f"a{i:05}", i) for i in range(10_000))
    graph = read_graph(made([node], tmp_path))
    assert len(graph.nodes[0].attributes) == 65
    assert graph.nodes[0].attributes[-1].note == "9936 more attributes"


def test_a_huge_attribute_is_described(tmp_path):
    big = TensorProto(data_type=FLOAT, dims=[1 << 20], raw_data=bytes(4 << 20))
    nodes = [
        helper.make_node("Constant", [], ["y"], value=big),
        helper.make_node("Op", [], ["z"], text=b"t" * (1 << 20), list=list(range(100_000))),
    ]
    graph = read_graph(made(nodes, tmp_path))
    assert [a.note for n in graph.nodes for a in n.attributes] == [
        "1048576 elements, not shown",
        *sorted(("the first 8 of 100000", "the beginning of 1048576 bytes"), reverse=True),
    ]
    assert frame(graph) < 5000


def nested(depth):
    graph = helper.make_graph(
        [helper.make_node("Relu", ["x"], ["r"])], "innermost", [], [value("r", FLOAT, [2])]
    )
    for level in range(depth):
        node = helper.make_node("If", ["c"], ["r"], name=f"If{level}", then_branch=graph)
        graph = helper.make_graph([node], f"level{level}", [], [value("r", FLOAT, [2])])
    return graph.node


def test_deep_nesting_is_left_out_with_a_note(tmp_path):
    graph = read_graph(made(nested(20), tmp_path))
    assert "sub-graphs nested deeper than 8 are left out" in graph.notes
    assert len(graph.nodes) == 9


@pytest.mark.usefixtures("starts_processes")
def test_nesting_that_protobuf_refuses_is_damage(tmp_path):
    inner = nested(30)[0].SerializeToString()
    for _ in range(60):  # wrapped by hand: protobuf would not write it either
        graph = b"\x0a" + _varint(len(inner)) + inner
        attribute = b"\x0a\x01g" + b"\x32" + _varint(len(graph)) + graph + b"\xa0\x01\x05"
        inner = b"\x22\x02If" + b"\x2a" + _varint(len(attribute)) + attribute
    graph = b"\x0a" + _varint(len(inner)) + inner
    whole = ModelProto(ir_version=8, opset_import=[helper.make_opsetid("", 17)])
    path = tmp_path / "deep.onnx"
    path.write_bytes(whole.SerializeToString() + b"\x3a" + _varint(len(graph)) + graph)
    with pytest.raises(UserError):
        modeldyno.graph(path, workspace=tmp_path / "workspace")


@pytest.mark.usefixtures("starts_processes")
def test_functions_that_call_themselves_are_not_unrolled(tmp_path):
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("me", 1)]

    def call(name):
        return helper.make_node(name, ["a"], ["b"], domain="me")

    functions = [
        helper.make_function("me", f"F{i}", ["a"], ["b"], [call(f"F{(i + 1) % 9}")] * 9, opsets)
        for i in range(9)
    ]
    node = helper.make_node("F0", ["x"], ["y"], domain="me")
    path = made([node], tmp_path, functions=functions, opset_imports=opsets)
    graph = modeldyno.graph(path, workspace=tmp_path / "workspace")
    assert len(graph.nodes) == 1 + 9 * 9


def test_groups_by_the_million_stay_few(tmp_path, monkeypatch):
    monkeypatch.setattr(graph_building, "MOST_GROUPS", 50)
    nodes = [relu(i, name="/".join(f"s{i}-{part}" for part in range(500))) for i in range(40)]
    graph = read_graph(made(nodes, tmp_path))
    assert len(graph.groups) <= 51
    assert all(node.scope.count("/") < graph_building.DEEPEST_SCOPE for node in graph.nodes)
    assert "it has more than 50 groups: the others are left out" in graph.notes


def test_shapes_of_a_thousand_dimensions_are_not_told(tmp_path):
    built = model([relu(0)], [value("t0", FLOAT, [1] * 1000)], [value("t1", FLOAT, None)])
    graph = read_graph(saved(built, tmp_path / "m.onnx"), infer_shapes=False)
    assert graph.tensor["t0"].shape is None
    assert any("1000 dimensions" in note for note in graph.notes)


@pytest.mark.usefixtures("starts_processes")
def test_weights_elsewhere_are_not_even_looked_for(tmp_path):
    secret = TensorProto(name="w", data_type=FLOAT, dims=[2], data_location=TensorProto.EXTERNAL)
    secret.external_data.add(key="location", value="../../etc/shadow")
    nodes = [helper.make_node("Add", ["x", "w"], ["h"]), helper.make_node("Relu", ["h"], ["y"])]
    graph = modeldyno.graph(made(nodes, tmp_path, weights=[secret]), workspace=tmp_path / "w")
    assert (graph.tensor["w"].kind, graph.tensor["h"].shape) == ("initializer", (2,))


# ---------------------------------------------------------------- workers that misbehave


@pytest.fixture
def inference(tmp_path, monkeypatch):
    """Makes whatever is asked of the worker's onnx.shape_inference do something else."""

    def does(code):
        fake = tmp_path / "fake"
        fake.mkdir()
        (fake / "inference.py").write_text(
            "import os, signal, time\n"
            "def __getattr__(name):\n"
            "    if name.startswith('__'):\n"
            "        raise AttributeError(name)\n"
            f"    return lambda *_, **__: {code}\n"
        )
        (fake / "sitecustomize.py").write_text(
            "import sys\n"
            "from importlib.util import spec_from_file_location\n"
            "class Finder:\n"
            "    def find_spec(self, name, path=None, target=None):\n"
            "        if name == 'onnx.shape_inference':\n"
            f"            return spec_from_file_location(name, {str(fake / 'inference.py')!r})\n"
            "sys.meta_path.insert(0, Finder())\n"
        )
        monkeypatch.setenv("PYTHONPATH", str(fake))

    return does


@pytest.fixture
def unshaped(tmp_path):
    nodes = [helper.make_node("Relu", ["x"], ["h"]), helper.make_node("Relu", ["h"], ["y"])]
    return made(nodes, tmp_path)


@pytest.mark.usefixtures("starts_processes")
def test_inference_that_kills_the_worker_costs_only_the_shapes(inference, unshaped, tmp_path):
    inference("os.kill(os.getpid(), signal.SIGSEGV)")
    graph = modeldyno.graph(unshaped, workspace=tmp_path / "workspace")
    assert [node.op for node in graph.nodes] == ["Relu", "Relu"]
    assert graph_job._CRASHED in graph.notes
    assert len(list((tmp_path / "workspace" / "graphs").iterdir())) == 1


@pytest.mark.slow
def test_inference_without_end_costs_only_the_shapes_and_is_tried_again(
    inference, unshaped, tmp_path
):
    inference("time.sleep(600)")
    graph = modeldyno.graph(unshaped, timeout=12, workspace=tmp_path / "workspace")
    assert [node.op for node in graph.nodes] == ["Relu", "Relu"]
    assert NOT_IN_TIME in graph.notes
    assert not (tmp_path / "workspace" / "graphs").exists()  # next time there may be time


@pytest.mark.usefixtures("starts_processes")
def test_inference_that_raises_is_a_note(inference, unshaped, tmp_path):
    inference("1 / 0")
    graph = modeldyno.graph(unshaped, workspace=tmp_path / "workspace")
    assert any("inferring more failed: division by zero" in note for note in graph.notes)


def test_a_worker_that_sends_rubbish_for_a_graph_is_not_believed():
    with pytest.raises(WorkerGarbled, match="not a graph"):
        graph_job._require_graph(GraphRead({"nodes": "everything"}))
