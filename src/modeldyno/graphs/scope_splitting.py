"""Graphs whose nodes have no scopes to lie in: thousands side by side are divided into parts.

Networks repeat themselves, so the longest stretch in which the same operators come again and again
is cut where it begins anew. What does not repeat is cut into parts of equal length. Parts are
consecutive in the order of the file, which is one of execution: no two of them need each other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from operator import eq

from modeldyno.core.graphs import Graph, GraphNode

MOST_DIRECT = 300  # nodes of a scope; more cannot be looked at
MOST_PARTS = 60
FEWEST_IN_A_PART = 30
LONGEST_PERIOD = 400
MOST_COMPARED = 20_000  # nodes of which repetitions are looked for: it takes their number times 400
WORTH_IT = 0.25  # of the nodes that must lie in repetitions

Stretch = tuple[int, int, str]  # from, to, and what it is called; empty: it stays as it is


def split_large_groups(graph: Graph) -> Graph:
    """The same graph; only scopes of nodes in crowded places are longer."""
    nodes = list(graph.nodes)
    waiting = _find_large_groups(nodes)
    taken = {node.scope for node in nodes}
    while waiting:
        scope, places = waiting.pop()
        for begin, end, name in split_into_stretches([nodes[place].op for place in places]):
            if not name:
                continue
            inner = _unused_scope_name(f"{scope}/{name}" if scope else name, taken)
            taken.add(inner)
            for place in places[begin:end]:
                nodes[place] = replace(nodes[place], scope=inner)
            if end - begin > MOST_DIRECT:
                waiting.append((inner, places[begin:end]))
    return replace(graph, nodes=tuple(nodes)) if nodes != list(graph.nodes) else graph


def _find_large_groups(nodes: Sequence[GraphNode]) -> list[tuple[str, list[int]]]:
    by_scope: dict[str, list[int]] = {}
    for place, node in enumerate(nodes):
        by_scope.setdefault(node.scope, []).append(place)
    return [(scope, places) for scope, places in by_scope.items() if len(places) > MOST_DIRECT]


def _unused_scope_name(scope: str, taken: set[str]) -> str:
    while scope in taken:
        scope += "'"
    return scope


def split_into_stretches(ops: Sequence[str]) -> Iterator[Stretch]:
    """From the first to the last, without gaps."""
    begin, period, count = _find_repetition(ops)
    end = begin + period * count
    together = -(-count // MOST_PARTS)  # repetitions in one part, so that there are not too many
    yield from _plain_stretches(0, begin, "start")
    step = period * together
    for number, place in enumerate(range(begin, end, max(1, step)), 1):
        yield place, min(place + step, end), f"block {number}"
    yield from _plain_stretches(end, len(ops), "end" if count else "part")


def _plain_stretches(begin: int, end: int, name: str) -> Iterator[Stretch]:
    """Few stay as they are."""
    length = end - begin
    if length <= FEWEST_IN_A_PART:
        if length:
            yield begin, end, ""
        return
    size = max(FEWEST_IN_A_PART, -(-length // MOST_PARTS))
    for number, place in enumerate(range(begin, end, size), 1):
        yield place, min(place + size, end), f"{name} {number}"


def _find_repetition(ops: Sequence[str]) -> tuple[int, int, int]:
    """Where it begins, how long it is, and how often it comes; never: (0, 0, 0)."""
    if len(ops) > MOST_COMPARED:
        return 0, 0, 0
    best = (0, 0, 0)
    for period in range(2, min(LONGEST_PERIOD, len(ops) // 2) + 1):
        begin, length = _find_longest_run(ops, period)
        count = length // period + 1
        # A multiple of a period repeats as well: only what covers more is better.
        if count > 1 and count * period > best[1] * best[2]:
            best = (begin, period, count)
    return best if best[1] * best[2] >= WORTH_IT * len(ops) else (0, 0, 0)


def _find_longest_run(ops: Sequence[str], period: int) -> tuple[int, int]:
    """Of operators that come again after so many, one after the other; in loops that Python runs in
    C, for there are hundreds of periods."""
    comes_again = bytes(map(eq, ops, ops[period:]))
    longest = max(map(len, comes_again.split(b"\x00")))
    return comes_again.find(b"\x01" * longest), longest
