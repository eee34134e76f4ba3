"""A graph as a tree of scopes, for a terminal."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from modeldyno.core.figures import counted
from modeldyno.core.graphs import Graph, Group
from modeldyno.core.visible import visible

DEPTH = 3
_MOST_LINES = 200
_MOST_OPS = 5


@dataclass(frozen=True)
class TreeLine:
    label: str  # indented
    nodes: int
    ops: str  # "Conv 12, Relu 11, and 3 more kinds"


def headline(graph: Graph) -> str:
    weights = sum(tensor.kind == "initializer" for tensor in graph.tensors)
    parts = (
        counted(len(graph.nodes), "node"),
        counted(len(graph.edges), "edge"),
        counted(len(graph.groups), "group"),
        counted(weights, "initializer"),
    )
    return ", ".join(parts)


def tree_lines(graph: Graph, depth: int = DEPTH) -> tuple[list[TreeLine], int]:
    """Groups down to ``depth``, with what lies in them; and how many were left out for length."""
    inside: dict[str, list[Group]] = {}
    for group in graph.groups:
        inside.setdefault(group.parent, []).append(group)
    lines: list[TreeLine] = []
    waiting = [(0, group) for group in reversed(inside.get("", []))]
    while waiting:
        level, group = waiting.pop()
        label = "  " * level + visible(group.label)
        lines.append(TreeLine(label, group.nodes, ops_text(group.nodes_by_op)))
        if level + 1 < depth:
            waiting += [(level + 1, child) for child in reversed(inside.get(group.scope, []))]
    left_out = max(0, len(lines) - _MOST_LINES)
    return [*lines[:_MOST_LINES], *_flat_tree_lines(graph)], left_out


def _flat_tree_lines(graph: Graph) -> list[TreeLine]:
    ops = Counter(node.op for node in graph.nodes if not node.scope)
    return (
        [TreeLine("(in no group)", ops.total(), ops_text(dict(ops.most_common())))] if ops else []
    )


def ops_text(nodes_by_op: dict[str, int]) -> str:
    common = [f"{visible(op)} {count}" for op, count in nodes_by_op.items()]
    more = len(common) - _MOST_OPS
    text = ", ".join(common[:_MOST_OPS])
    return f"{text}, and {counted(more, 'more kind')}" if more > 0 else text


def text_lines(graph: Graph, depth: int = DEPTH) -> list[str]:
    """The tree, and what there is to say about it."""
    lines, left_out = tree_lines(graph, depth)
    width = max((len(line.label) for line in lines), default=0)
    text = [headline(graph)]
    text += [f"{line.label:<{width}}  {line.nodes:>6}  {line.ops}" for line in lines]
    if left_out:
        text.append(f"… and {counted(left_out, 'more group')}")
    return text + [f"note: {note}" for note in graph.notes]


def tree_text(graph: Graph, depth: int = DEPTH) -> str:
    return "\n".join(map(visible, text_lines(graph, depth)))
