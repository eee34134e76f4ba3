"""Thousands of nodes without scopes open in parts."""

import pytest

from modeldyno.core.graphs import Graph, GraphNode, GraphTensor
from modeldyno.graphs.drawing import draw_view
from modeldyno.graphs.scope_splitting import MOST_DIRECT, split_into_stretches, split_large_groups

LAYER = ["MatMul", "Add", "Softmax", "MatMul", "Add", "LayerNormalization", "Gemm", "Relu"]


def chain(ops, scope=""):
    tensors = [GraphTensor(f"t{n}", f"t{n}", "node", None, None) for n in range(len(ops) + 1)]
    nodes = [
        GraphNode(f"n{n}", op, "", f"n{n}", scope, (f"t{n}",), (f"t{n + 1}",))
        for n, op in enumerate(ops)
    ]
    ends = ("t0",), (f"t{len(ops)}",)
    return Graph("onnx", "0" * 64, "flat", tuple(nodes), tuple(tensors), *ends)


def test_what_repeats_is_cut_where_it_begins_anew():
    ops = ["Conv", "Tanh", "Gather", *LAYER * 40, "Tile", "Exp"]
    found = list(split_into_stretches(ops))
    assert found[0] == (0, 3, "")
    assert found[1] == (3, 11, "block 1")
    assert found[40] == (3 + 39 * 8, 3 + 40 * 8, "block 40")
    assert found[-1] == (len(ops) - 2, len(ops), "")


@pytest.mark.slow
def test_a_flat_graph_of_thousands_opens_with_few_boxes():
    for ops in (
        LAYER * 625,
        ["Conv", "Relu"] * 2_500,
        [f"Op{n}" for n in range(5_000)],
        [f"Op{n}" for n in range(25_000)],
    ):
        graph = split_large_groups(chain(ops))
        first = graph.view()
        assert len(first.boxes) <= MOST_DIRECT
        assert sum(box.nodes for box in first.boxes) == len(ops)
        inner = max(len(draw_view(graph, {g.scope}).boxes) for g in graph.groups if not g.parent)
        assert inner <= 2 * MOST_DIRECT
        assert [node.id for node in graph.nodes] == [f"n{n}" for n in range(len(ops))]


def test_what_has_scopes_or_is_small_stays_as_it_is():
    small, scoped = chain(LAYER * 30), chain(LAYER * 30, "encoder")
    assert split_large_groups(small) is small
    assert split_large_groups(scoped) is scoped
    crowded = split_large_groups(chain(LAYER * 100, "encoder"))
    assert {node.scope for node in crowded.nodes[:8]} == {"encoder/block 1"}
