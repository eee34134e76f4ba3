"""Graphs as rows: what goes in comes out, and rubbish does not."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from modeldyno.core.codec import Mismatch
from modeldyno.core.graphs import Attribute, Body, Graph, GraphNode, GraphTensor
from modeldyno.graphs.rows import from_rows, to_rows

SHA256 = "0" * 64
texts = st.text(max_size=8)
dims = st.one_of(st.none(), st.integers(0, 2**40), texts)
shapes = st.one_of(st.none(), st.lists(dims, max_size=4).map(tuple))
scalars = st.one_of(
    st.booleans(), st.integers(-(2**63), 2**64), st.floats(allow_nan=False, allow_infinity=False),
    texts,
)  # fmt: skip
values = st.one_of(st.none(), scalars, st.lists(scalars, max_size=4).map(tuple))
attributes = st.builds(Attribute, texts, texts, values, texts, st.one_of(st.none(), texts), shapes)
kinds = st.sampled_from(["input", "initializer", "node", "argument", "missing"])


def nodes_called(id_, slots):
    some = st.lists(attributes, max_size=3).map(tuple)
    scopes = st.lists(texts, max_size=2).map(tuple)
    return st.builds(
        GraphNode, st.just(id_), texts, texts, texts, texts, slots, slots, some, scopes
    )


@st.composite
def graphs(draw):
    ids = draw(st.lists(st.text(min_size=1, max_size=8), max_size=8, unique=True))
    some = st.lists(st.sampled_from(ids), max_size=4).map(tuple) if ids else st.just(())
    slots = st.lists(st.sampled_from(["", *ids]), max_size=4).map(tuple)
    names = draw(st.lists(texts, max_size=6, unique=True))
    return Graph(
        format=draw(st.sampled_from(["onnx", "torch-export"])),
        sha256=SHA256,
        name=draw(texts),
        nodes=tuple(draw(nodes_called(name, slots)) for name in names),
        tensors=tuple(
            GraphTensor(id_, *draw(st.tuples(texts, kinds, st.one_of(st.none(), texts), shapes)))
            for id_ in ids
        ),
        inputs=draw(some),
        outputs=draw(some),
        bodies=tuple(
            draw(
                st.lists(
                    st.builds(
                        Body, texts, texts, st.sampled_from(["subgraph", "function"]), some, some
                    ),
                    max_size=2,
                )
            )
        ),
        notes=tuple(draw(st.lists(texts, max_size=2))),
    )  # fmt: skip


@given(graphs())
def test_a_graph_survives_the_trip_through_json(graph):
    assert from_rows(json.loads(json.dumps(to_rows(graph)))) == graph


SMALL = Graph(
    format="onnx",
    sha256=SHA256,
    name="g",
    nodes=(GraphNode("n", "Relu", "", "n", "", ("x", ""), ("y",), (Attribute("a", "int", 1),)),),
    tensors=(
        GraphTensor("x", "x", "input", "float32", (1, "n", None)),
        GraphTensor("y", "y", "node", None, None),
    ),
    inputs=("x",),
    outputs=("y",),
    bodies=(Body("b", "b", "subgraph", ("x",), ("y",)),),
)


def broken(path, value):
    """The rows of a good graph, with one thing replaced."""
    rows = json.loads(json.dumps(to_rows(SMALL)))
    inner = rows
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return rows


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (["version"], 0),
        (["format"], "elf"),
        (["sha256"], 7),
        (["tensors"], None),
        (["tensors", 0], ["x", "x", "input"]),
        (["tensors", 0, 0], ""),
        (["tensors", 0, 2], "magic"),
        (["tensors", 0, 2], []),
        (["tensors", 0, 4], "long"),
        (["tensors", 0, 4], 2),
        (["tensors", 0, 4], -1),
        (["shapes"], None),
        (["shapes"], "xy"),
        (["shapes", 0], "x"),
        (["shapes", 0], [[1]]),
        (["shapes", 0], [True]),
        (["nodes", 0, 7, 0], ["a", "tensor", 1, "", "float32", [1.5]]),
        (["nodes", 0, 7, 0], ["a"]),
        (["tensors", 1, 0], "x"),
        (["nodes", 0], 5),
        (["nodes", 0, 1], None),
        (["nodes", 0, 5], [2]),
        (["nodes", 0, 5], [-2]),
        (["nodes", 0, 5], ["x"]),
        (["nodes", 0, 5], "x"),
        (["nodes", 0, 7, 0], ["a", "int", {"deep": []}]),
        (["nodes", 0, 7, 0], ["a", "ints", [[1]]]),
        (["nodes", 0, 8], [1]),
        (["bodies", 0, 2], "soul"),
        (["bodies", 0, 3], [-1]),
        (["inputs"], [-1]),
        (["outputs"], [2]),
        (["notes"], [None]),
    ],
    ids=str,
)
def test_rows_that_are_no_graph_are_refused(path, value):
    with pytest.raises(Mismatch):
        from_rows(broken(path, value))


@pytest.mark.parametrize("rows", [None, [], {}, "x", 7])
def test_other_things_are_no_graph_either(rows):
    with pytest.raises(Mismatch):
        from_rows(rows)


def test_two_nodes_of_one_id_are_refused():
    (node,) = SMALL.nodes
    with pytest.raises(Mismatch, match="two things of one id"):
        from_rows(to_rows(replace(SMALL, nodes=(node, node))))
