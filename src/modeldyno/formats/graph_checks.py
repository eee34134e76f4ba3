"""What no engine would accept in a graph, told rather than refused: looking is still possible."""

from __future__ import annotations

from dataclasses import replace

from modeldyno.core.graphs import Graph


def check_order(graph: Graph) -> Graph:
    """With a note when tensors go in a circle."""
    waiting = {node.id: 0 for node in graph.nodes}
    after: dict[str, list[str]] = {}
    for edge in graph.edges:
        waiting[edge.target] += 1
        after.setdefault(edge.source, []).append(edge.target)
    ready = [id_ for id_, count in waiting.items() if count == 0]
    left = len(waiting)
    while ready:
        left -= 1
        for target in after.get(ready.pop(), ()):
            waiting[target] -= 1
            if waiting[target] == 0:
                ready.append(target)
    if not left:
        return graph
    note = f"{left} nodes lie on a circle or behind one: engines will refuse the model"
    return replace(graph, notes=(*graph.notes, note))
