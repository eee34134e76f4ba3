"""The graph of an ONNX file, node by node."""

import hashlib
import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import AttributeProto, TensorProto, helper, numpy_helper

from modeldyno.core.errors import GraphUnavailable, ModelUnreadable
from modeldyno.core.graphs import Attribute, Body, Edge, Graph, GraphNode, GraphTensor
from modeldyno.formats import catalog
from modeldyno.formats.graph_attributes import to_number_scalar
from modeldyno.formats.onnx.graph import read_attribute, read_graph
from modeldyno.graphs.rows import from_rows, to_rows
from tests.onnx_models import FLOAT, INT64, linear, model, saved, value, weight


def graph_of(made, tmp_path, **options):
    return read_graph(saved(made, tmp_path / "net.onnx"), **options)


def node(op, inputs, outputs, **more):
    return helper.make_node(op, inputs.split(), outputs.split(), **more)


def simple(nodes, x=(2, 3), y=(2, 3), **more):
    return model(nodes, [value("x", FLOAT, x)], [value("y", FLOAT, y)], **more)


# ---------------------------------------------------------------- the whole


def test_a_small_graph_is_read_exactly(tmp_path):
    path = saved(linear(), tmp_path / "net.onnx")
    x = GraphTensor("x", "x", "input", "float32", ("batch", 4))
    w = GraphTensor("w", "w", "initializer", "float32", (4, 3))
    b = GraphTensor("b", "b", "initializer", "float32", (3,))
    y = GraphTensor("y", "y", "node", "float32", ("batch", 3))
    assert catalog.read_graph(path) == Graph(
        format="onnx",
        sha256=hashlib.sha256(path.read_bytes()).hexdigest(),
        name="g",
        nodes=(GraphNode("Gemm#0", "Gemm", "", "", "", ("x", "w", "b"), ("y",)),),
        tensors=(w, b, x, y),
        inputs=("x",),
        outputs=("y",),
    )


def test_edges_carry_their_tensor_with_its_inferred_shape(tmp_path):
    made = simple(
        [node("Relu", "x", "a", name="one"), node("Add", "a a", "b", name="two"),
         node("Concat", "a b x", "y", name="three", axis=0)],
        y=(6, 3),
    )  # fmt: skip
    a = GraphTensor("a", "a", "node", "float32", (2, 3))
    b = GraphTensor("b", "b", "node", "float32", (2, 3))
    graph = graph_of(made, tmp_path)
    assert graph.edges == (
        Edge("one", "two", a),
        Edge("one", "three", a),
        Edge("two", "three", b),
    )
    assert graph.notes == ()


def test_without_inference_the_shapes_of_the_file_count(tmp_path):
    made = simple([node("Relu", "x", "a"), node("Relu", "a", "b"), node("Relu", "b", "y")])
    made.graph.value_info.append(value("a", FLOAT, [7, "n"]))
    graph = graph_of(made, tmp_path, infer_shapes=False)
    assert graph.tensor["a"].shape == (7, "n")
    assert (graph.tensor["b"].shape, graph.tensor["b"].dtype) == (None, None)
    assert graph.notes == ("1 tensors have no known shape",)


def test_sizes_that_inference_invents_are_unknown(tmp_path):
    made = model(
        [node("NonZero", "x", "a"), node("Identity", "a", "y")],
        [value("x", FLOAT, [2, 3])],
        [value("y", INT64, [2, None])],
    )
    assert graph_of(made, tmp_path).tensor["a"].shape == (2, None)


def test_shapes_that_hang_on_small_constants_are_inferred_though_weights_are_forgotten(tmp_path):
    made = simple(
        [node("MatMul", "x w", "a"), node("Reshape", "a s", "b"), node("Relu", "b", "y")],
        y=(50, 20),
        weights=[weight("w", 3, 500), numpy_helper.from_array(np.array([50, 20]), "s")],
    )
    graph = graph_of(made, tmp_path)
    assert graph.tensor["b"].shape == (50, 20)
    assert graph.tensor["w"] == GraphTensor("w", "w", "initializer", "float32", (3, 500))


def test_inference_that_fails_is_a_note(tmp_path):
    made = simple([node("Concat", "x", "a"), node("Relu", "a", "y")])  # no axis
    made.opset_import[0].version = 10_000
    graph = graph_of(made, tmp_path)
    assert [n.op for n in graph.nodes] == ["Concat", "Relu"]
    assert any("no known shape" in note or "inferring" in note for note in graph.notes)


# ---------------------------------------------------------------- ids and scopes


def test_names_that_repeat_or_are_missing_get_ids_in_the_order_of_the_file(tmp_path):
    made = simple(
        [node("Relu", "x", "a", name="n"), node("Relu", "a", "b", name="n"),
         node("Relu", "b", "c"), node("Relu", "c", "d", name="n#2"), node("Relu", "d", "y")]
    )  # fmt: skip
    graph = graph_of(made, tmp_path)
    assert [n.id for n in graph.nodes] == ["n", "n#2", "Relu#2", "n#2#2", "Relu#4"]
    assert [n.name for n in graph.nodes] == ["n", "n", "", "n#2", ""]
    assert graph_of(made, tmp_path) == graph


def test_scopes_come_from_names_outputs_and_torchs_metadata(tmp_path):
    noted = node("Relu", "c", "y", name="node_relu")
    noted.metadata_props.add(
        key="pkg.torch.onnx.name_scopes", value="['', 'net.0', 'net.0.act', 'relu']"
    )
    made = simple(
        [node("Relu", "x", "a", name="/layer1/layer1.0/Relu"), node("Relu", "a", "gpu/b"),
         node("Relu", "gpu/b", "c", name="Relu_3"), noted]
    )  # fmt: skip
    graph = graph_of(made, tmp_path)
    assert [n.scope for n in graph.nodes] == ["layer1/layer1.0", "gpu", "", "net/0/act"]


def test_operators_of_other_domains_say_so(tmp_path):
    made = simple(
        [node("Relu", "x", "a", domain="ai.onnx"), node("Gelu", "a", "y", domain="com.microsoft")],
        opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)],
    )
    graph = graph_of(made, tmp_path)
    assert [n.op for n in graph.nodes] == ["Relu", "com.microsoft.Gelu"]


def test_an_optional_input_that_is_left_out_keeps_its_place(tmp_path):
    made = simple([node("Clip", "x", "y")], weights=[weight("top", 1)])
    made.graph.node[0].input.extend(["", "top"])
    (clip,) = graph_of(made, tmp_path).nodes
    assert clip.inputs == ("x", "", "top")


def test_weights_listed_as_inputs_are_initializers(tmp_path):
    made = linear()
    made.graph.input.append(value("w", FLOAT, [4, 3]))
    graph = graph_of(made, tmp_path)
    assert graph.inputs == ("x",)
    assert graph.tensor["w"].kind == "initializer"


# ---------------------------------------------------------------- graphs inside graphs


def branch(name, op, captured="h"):
    return helper.make_graph([node(op, captured, "r", name=op)], name, [], [value("r", FLOAT, [])])


def test_branches_are_scopes_and_see_the_tensors_around_them(tmp_path):
    choose = helper.make_node(
        "If", ["c"], ["y"], name="net/If_0",
        then_branch=branch("yes", "Relu"), else_branch=branch("no", "Neg"),
    )  # fmt: skip
    made = model(
        [node("Abs", "x", "h", name="net/Abs"), choose],
        [value("x", FLOAT, []), value("c", TensorProto.BOOL, [])],
        [value("y", FLOAT, [])],
    )
    graph = graph_of(made, tmp_path)
    yes, no = "net/If_0[then_branch]", "net/If_0[else_branch]"
    found = {n.id: (n.scope, n.inputs, n.outputs, set(n.bodies)) for n in graph.nodes}
    assert found["net/If_0"] == ("net", ("c",), ("y",), {yes, no})
    assert {found["Relu"][0], found["Neg"][0]} == {yes, no}
    assert found["Relu"][1] == found["Neg"][1] == ("h",)
    assert found["Relu"][2] != found["Neg"][2]  # each branch has its own r
    assert {graph.tensor[found[n][2][0]].name for n in ("Relu", "Neg")} == {"r"}
    assert {(b.scope, b.name, b.kind) for b in graph.bodies} == {
        (yes, "yes", "subgraph"),
        (no, "no", "subgraph"),
    }
    assert {(e.source, e.target) for e in graph.edges} == {("net/Abs", "Relu"), ("net/Abs", "Neg")}


def test_a_loop_gives_arguments_to_its_body(tmp_path):
    body = helper.make_graph(
        [node("Identity", "go", "on"), node("Add", "v v", "w")],
        "body",
        [value("i", INT64, []), value("go", TensorProto.BOOL, []), value("v", FLOAT, [])],
        [value("on", TensorProto.BOOL, []), value("w", FLOAT, [])],
    )
    made = model(
        [helper.make_node("Loop", ["n", "", "x"], ["y"], name="L", body=body)],
        [value("n", INT64, []), value("x", FLOAT, [])],
        [value("y", FLOAT, [])],
    )
    graph = graph_of(made, tmp_path)
    assert graph.bodies == (Body("L[body]", "body", "subgraph", ("i", "go", "v"), ("on", "w")),)
    assert [graph.tensor[name].kind for name in ("i", "v", "w")] == ["argument"] * 2 + ["node"]
    assert graph.nodes[0].attributes == (
        Attribute("body", "graph", None, "its nodes are in a group of their own"),
    )


def test_a_local_function_is_one_scope_however_often_it_is_called(tmp_path):
    body = [helper.make_node("Relu", ["p"], ["q"]), helper.make_node("Add", ["q", "p"], ["r"])]
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("mine", 1)]
    function = helper.make_function("mine", "Twice", ["p"], ["r"], body, opsets)
    made = simple(
        [node("Twice", "x", "a", domain="mine"), node("Twice", "a", "y", domain="mine")],
        opset_imports=opsets,
        functions=[function],
    )
    graph = graph_of(made, tmp_path)
    assert [(n.op, n.scope, n.bodies) for n in graph.nodes] == [
        ("mine.Twice", "", ("mine.Twice()",)),
        ("mine.Twice", "", ("mine.Twice()",)),
        ("Relu", "mine.Twice()", ()),
        ("Add", "mine.Twice()", ()),
    ]
    assert graph.bodies == (Body("mine.Twice()", "Twice", "function", ("p",), ("r",)),)


# ---------------------------------------------------------------- attributes


def shown(**named):
    (name,) = named
    return read_attribute(helper.make_attribute(name, named[name]))


@pytest.mark.parametrize(
    ("given", "kind", "told"),
    [
        (3, "int", 3),
        (-(2**63), "int", -(2**63)),
        (0.1, "float", 0.1),
        (1e-5, "float", 1e-5),
        (math.inf, "float", "Infinity"),
        (-math.inf, "float", "-Infinity"),
        (math.nan, "float", "NaN"),
        ("SAME_UPPER", "string", "SAME_UPPER"),
        ([1, 2, 3], "ints", (1, 2, 3)),
        ([0.5, 0.1], "floats", (0.5, 0.1)),
        (["a", "b"], "strings", ("a", "b")),
    ],
    ids=str,
)
def test_values_of_attributes_are_reported(given, kind, told):
    assert shown(a=given) == Attribute("a", kind, told)


def test_long_values_are_described_and_not_dumped():
    assert shown(a=list(range(1000))) == Attribute(
        "a", "ints", tuple(range(8)), "the first 8 of 1000"
    )
    text = shown(a="é" * 5000)
    assert (len(str(text.value)), text.note) == (256, "the beginning of 10000 bytes")
    assert shown(a=b"\xff\xfe") == Attribute("a", "string", None, "2 bytes that are not text")


@pytest.mark.parametrize(
    ("array", "value"),
    [
        (np.array([1, -1, 224]), (1, -1, 224)),
        (np.array(0.1, np.float32), (0.1,)),
        (np.array([np.nan, np.inf], np.float16), ("NaN", "Infinity")),
        (np.array([True, False]), (True, False)),
        (np.zeros((0, 4), np.float32), ()),
    ],
    ids=str,
)
def test_small_tensors_show_their_elements(array, value):
    assert shown(a=numpy_helper.from_array(array)) == Attribute(
        "a", "tensor", value, "", array.dtype.name, array.shape
    )


def test_large_tensors_show_type_and_shape():
    assert shown(a=weight("w", 64, 3)) == Attribute(
        "a", "tensor", None, "192 elements, not shown", "float32", (64, 3)
    )


def test_a_damaged_tensor_is_no_error():
    tensor = TensorProto(data_type=FLOAT, dims=[2], raw_data=b"123")
    assert shown(a=tensor).note == "its elements cannot be read"
    assert shown(a=TensorProto(data_type=77, dims=[2])).dtype == "unknown(77)"
    assert shown(a=TensorProto(data_type=FLOAT, dims=[-1, -2])).value is None


def test_an_attribute_that_refers_to_the_caller_says_so():
    proto = AttributeProto(name="axis", type=AttributeProto.INT, ref_attr_name="dim")
    assert read_attribute(proto) == Attribute(
        "axis", "int", None, "the argument of its caller named dim"
    )


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_a_short_float_is_the_same_float(found):
    assert np.float32(to_number_scalar(found)) == np.float32(found)


# ---------------------------------------------------------------- what is wrong


def test_formats_without_a_graph_say_which_have_one(tmp_path):
    (tmp_path / "m.json").write_text('{"modeldyno": "scripted/1"}')
    with pytest.raises(GraphUnavailable) as caught:
        catalog.read_graph(tmp_path / "m.json")
    assert "ONNX files, torch.export programs (.pt2)" in caught.value.why


def with_qqqq(where):
    """A model that says QQQQ in one place."""
    names = dict.fromkeys(("name", "op", "domain", "input", "output", "setting", "size"), "q")
    names[where] = "QQQQ"
    odd = node(names["op"], f"x {names['input']}", f"y {names['output']}", name=names["name"])
    odd.domain = names["domain"]
    odd.attribute.append(helper.make_attribute(names["setting"], 1))
    odd.metadata_props.add(key="namespace", value="QQQQ" if where == "note" else "")
    return simple([odd], x=(names["size"],))


@pytest.mark.parametrize(
    "where", ["name", "op", "domain", "input", "output", "setting", "size", "note"]
)
def test_a_name_that_is_not_text_is_damage(where, tmp_path):
    path = saved(with_qqqq(where), tmp_path / "net.onnx")
    assert read_graph(path).nodes
    path.write_bytes(path.read_bytes().replace(b"QQQQ", b"\xff\xfe\xff\xfe"))
    with pytest.raises(ModelUnreadable, match="is damaged"):
        read_graph(path)


def test_a_cycle_is_noted_and_not_followed(tmp_path):
    made = simple(
        [node("Add", "x b", "a", name="1"), node("Relu", "a", "b", name="2"),
         node("Relu", "b", "y", name="3"), node("Relu", "x", "free", name="4")]
    )  # fmt: skip
    graph = graph_of(made, tmp_path)
    assert ("2", "1") in {(e.source, e.target) for e in graph.edges}
    assert "3 nodes are part of a cycle or depend on one" in " ".join(graph.notes)


def test_tensors_produced_never_or_twice_are_noted(tmp_path):
    made = simple([node("Add", "x ghost", "y"), node("Relu", "x", "y")])
    graph = graph_of(made, tmp_path)
    assert graph.tensor["ghost"].kind == "missing"
    assert [n.outputs for n in graph.nodes] == [("y",), ("y#2",)]
    assert any("no node produces" in note for note in graph.notes)
    assert any("two nodes produce the same" in note for note in graph.notes)


# ---------------------------------------------------------------- any graph at all

names = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(names, st.lists(names, max_size=3), st.lists(names, max_size=2))))
def test_whatever_names_a_file_has_its_graph_makes_the_trip(tmp_path_factory, drawn):
    nodes = [helper.make_node("Op", ins, outs, name=name) for name, ins, outs in drawn]
    graph = graph_of(simple(nodes), tmp_path_factory.mktemp("any"), infer_shapes=False)
    assert len(graph.nodes) == len(drawn)
    assert [n.name for n in graph.nodes] == [name for name, _, _ in drawn]
    told = [[graph.tensor[id_].name if id_ else "" for id_ in n.inputs] for n in graph.nodes]
    assert told == [ins for _, ins, _ in drawn]
    assert from_rows(json.loads(json.dumps(to_rows(graph)))) == graph
    assert sum(box.nodes for box in graph.view().boxes) == len(drawn)
