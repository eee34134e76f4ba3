"""Local functions of an ONNX model, and how large it is with every call written out.

Engines and shape inference write them out, so a few kilobytes of functions that call functions can
be billions of nodes.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from modeldyno.core.graphs import MOST_NODES
from modeldyno.formats.onnx.traversal import subgraphs

if TYPE_CHECKING:
    from onnx import FunctionProto, ModelProto, NodeProto

MOST_WRITTEN_OUT = MOST_NODES  # nodes that calls stand for
Key = tuple[str, str]  # domain and name


@dataclass(frozen=True)
class Functions:
    bodies: Mapping[Key, FunctionProto]  # those whose calls come to an end: no recursion
    nodes_written_out: int  # that the calls of the main graph stand for, counted up to the limit

    @property
    def are_too_many(self) -> bool:
        return self.nodes_written_out > MOST_WRITTEN_OUT


def functions_of(model: ModelProto) -> Functions:
    """Takes time in proportion to the file, not to what its calls stand for."""
    definitions: dict[Key, list[FunctionProto]] = defaultdict(list)
    for function in model.functions:  # several of one name: overloads
        definitions[function.domain, function.name].append(function)
    names = definitions.keys()
    calls = {
        key: [_calls(function.node, names) for function in several]
        for key, several in definitions.items()
    }
    sizes = _sizes(calls)
    written_out = _size(_calls(model.graph.node, names), sizes) if names else 0
    bodies = {key: definitions[key][-1] for key in sizes}
    return Functions(bodies, written_out)


@dataclass(frozen=True)
class _Calls:
    nodes: int  # in branches and loop bodies, too
    times: Counter[Key]


def _calls(nodes: Iterable[NodeProto], names: Iterable[Key]) -> _Calls:
    count, times = 0, Counter[Key]()
    waiting = [nodes]
    while waiting:
        for node in waiting.pop():
            count += 1
            if (key := (node.domain, node.op_type)) in names:
                times[key] += 1
            waiting += [graph.node for graph in subgraphs(node)]
    return _Calls(count, times)


def _sizes(calls: Mapping[Key, list[_Calls]]) -> dict[Key, int]:
    """Nodes of each function with its own calls written out, callees first. What is part of a
    cycle, or calls such a function, never gets its turn."""
    callees = {key: set().union(*(one.times for one in several)) for key, several in calls.items()}
    callers: dict[Key, list[Key]] = defaultdict(list)
    for key, called in callees.items():
        for one in called:
            callers[one].append(key)
    missing = {key: len(called) for key, called in callees.items()}
    ready = [key for key, count in missing.items() if not count]
    sizes: dict[Key, int] = {}
    while ready:
        key = ready.pop()
        sizes[key] = max(one.nodes + _size(one, sizes) for one in calls[key])
        for caller in callers[key]:
            missing[caller] -= 1
            if not missing[caller]:
                ready.append(caller)
    return sizes


def _size(calls: _Calls, sizes: Mapping[Key, int]) -> int:
    """What its calls stand for; capped, or the numbers themselves would grow without bounds."""
    total = sum(times * sizes.get(key, 0) for key, times in calls.times.items())
    return min(total, MOST_WRITTEN_OUT + 1)
