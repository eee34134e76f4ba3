"""Groups: what lies in them, and what is left to draw when they are closed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from modeldyno.core.graphs import Box, Graph, GraphNode, GraphTensor, Group, Link, enclosing_scopes
from modeldyno.graphs.drawing import choose_open_groups, draw_view
from modeldyno.graphs.tree import tree_text


def chain(*scopes, op="Relu", notes=()):
    """Nodes n0, n1, … one after the other, each in its scope."""
    names = ["x", *(f"t{number}" for number in range(len(scopes)))]
    return Graph(
        format="onnx",
        sha256="0" * 64,
        name="chain",
        nodes=tuple(
            GraphNode(f"n{i}", op, "", f"n{i}", scope, (names[i],), (names[i + 1],))
            for i, scope in enumerate(scopes)
        ),
        tensors=tuple(
            GraphTensor(name, name, "node" if name != "x" else "input", "float32", (1,))
            for name in names
        ),
        inputs=("x",),
        outputs=(names[-1],),
        notes=notes,
    )


def test_a_scope_lies_in_every_scope_around_it():
    assert list(enclosing_scopes("a/b/c")) == ["a", "a/b", "a/b/c"]
    assert list(enclosing_scopes("")) == []


def test_groups_count_what_lies_in_them_at_any_depth():
    assert chain("a/b", "a/b", "a", "").groups == (
        Group("a", "", 3, {"Relu": 3}),
        Group("a/b", "a", 2, {"Relu": 2}),
    )


GRAPH = chain("", "a/b", "a/b", "a", "c", "")


def boxes(graph, *expanded):
    return [box.id for box in draw_view(graph, expanded).boxes]


def links(graph, *expanded):
    return [(link.source, link.target, *link.tensors) for link in draw_view(graph, expanded).links]


def test_closed_groups_are_one_box_with_the_edges_that_cross_their_border():
    drawn = draw_view(GRAPH, ())
    assert drawn.boxes == (
        Box("input:x", "input", "x", "x", "", 0),
        Box("node:n0", "node", "n0", "n0", "", 1, "Relu"),
        Box("group:a", "group", "a", "a", "", 3),
        Box("node:n4", "node", "n4", "n4", "", 1, "Relu"),  # the only one of its group
        Box("node:n5", "node", "n5", "n5", "", 1, "Relu"),
        Box("output:t5", "output", "t5", "t5", "", 0),
    )
    assert drawn.links == (
        Link("input:x", "node:n0", ("x",)),
        Link("node:n0", "group:a", ("t0",)),
        Link("group:a", "node:n4", ("t3",)),
        Link("node:n4", "node:n5", ("t4",)),
        Link("node:n5", "output:t5", ("t5",)),
    )
    assert drawn.expanded == ()


def test_an_open_group_shows_what_is_in_it_and_its_boxes_know_it():
    drawn = draw_view(GRAPH, ["a"])
    inside = {box.id: box.parent for box in drawn.boxes if box.parent}
    assert inside == {"group:a/b": "a", "node:n3": "a"}
    assert ("group:a/b", "node:n3", "t2") in links(GRAPH, "a")
    assert drawn.expanded == ("a",)


def test_a_group_inside_a_closed_one_stays_hidden():
    assert boxes(GRAPH, "a/b") == boxes(GRAPH)


def test_opening_everything_shows_every_node():
    shown = [box.of for box in draw_view(GRAPH, ["a", "a/b", "c"]).boxes if box.kind == "node"]
    assert shown == [node.id for node in GRAPH.nodes]


def test_several_tensors_between_two_groups_are_one_link():
    tensors = [GraphTensor(n, n, "node", None, None) for n in "pqrs"]
    nodes = (
        GraphNode("1", "Split", "", "", "a", (), ("p", "q")),
        GraphNode("2", "Split", "", "", "a", ("p",), ("r", "")),
        GraphNode("3", "Add", "", "", "b", ("p", "q"), ("s",)),
        GraphNode("4", "Add", "", "", "b", ("r", "p", "", "s"), ()),
    )
    graph = Graph("onnx", "0" * 64, "", nodes, tuple(tensors), (), ())
    assert links(graph) == [("group:a", "group:b", "p", "q", "r")]


def test_a_node_and_a_group_of_one_name_are_two_boxes():
    graph = chain("", "n0", "n0")
    assert boxes(graph)[1:3] == ["node:n0", "group:n0"]


@given(
    st.lists(st.lists(st.sampled_from("abc"), max_size=4).map("/".join), min_size=1, max_size=40),
    st.integers(1, 30),
    st.data(),
)
def test_every_node_is_in_exactly_one_box_and_every_link_joins_two(scopes, most, data):
    graph = chain(*scopes)
    known = [group.scope for group in graph.groups]
    expanded = data.draw(st.sets(st.sampled_from(known)) if known else st.just(set()))
    drawn = draw_view(graph, expanded)
    ids = [box.id for box in drawn.boxes]
    assert len(ids) == len(set(ids))
    assert sum(box.nodes for box in drawn.boxes) == len(scopes)
    for link in drawn.links:
        assert {link.source, link.target} <= set(ids)
        assert link.source != link.target
    assert set(drawn.expanded) <= expanded
    first = draw_view(graph, choose_open_groups(graph, most))
    fewest = len(draw_view(graph, ()).boxes) - 2  # without input and output
    assert len(first.boxes) - 2 <= max(most, fewest)


def test_a_first_look_opens_the_largest_groups_that_leave_few_boxes():
    scopes = [f"net/layer{i}/{part}" for i in range(12) for part in ("attention", "mlp") * 4]
    graph = chain(*scopes)
    assert choose_open_groups(graph, most=12) == {"net"}
    assert len(choose_open_groups(graph, most=24)) == 13
    drawn = [box.kind for box in graph.view().boxes]
    assert (drawn.count("group"), drawn.count("node")) == (12, 48)


def test_the_tree_shows_scopes_down_to_a_depth_and_harmless_names():
    graph = chain("a/b\x1b[31m/c", "a/b\x1b[31m/d", "e", "", notes=("look",))
    assert tree_text(graph, depth=2).splitlines() == [
        "4 nodes, 3 edges, 5 groups, 0 initializers",
        "a                   2  Relu 2",
        "  b\\x1b[31m         2  Relu 2",
        "e                   1  Relu 1",
        "(in no group)       1  Relu 1",
        "note: look",
    ]
    assert "c" in tree_text(graph, depth=3)


def test_a_very_long_tree_says_what_it_leaves_out():
    lines = tree_text(chain(*(f"g{i}" for i in range(250)))).splitlines()
    assert lines[-1] == "… and 50 more groups"


@pytest.mark.parametrize("kinds", [5, 6, 7])
def test_a_group_of_many_kinds_of_nodes_names_the_most_frequent(kinds):
    graph = chain(*["a"] * (kinds + 1))
    nodes = [
        GraphNode(n.id, f"Op{max(0, i - 1)}", "", n.name, n.scope, n.inputs, n.outputs)
        for i, n in enumerate(graph.nodes)
    ]
    made = Graph("onnx", "0" * 64, "", tuple(nodes), graph.tensors, ("x",), ())
    (_, line) = tree_text(made).splitlines()
    assert "Op0 2, Op1 1" in line
    assert line.endswith({5: "Op4 1", 6: "and 1 more kind", 7: "and 2 more kinds"}[kinds])
