"""A TensorFlow graph with its function calls inlined: what is really computed.

A model saved by TensorFlow 2 calls a function that calls another one, and so on. Branches and loops
keep their bodies.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from modeldyno.core.graphs import MOST_NODES
from modeldyno.formats.tensorflow.messages import FunctionDef, FunctionName, GraphDef, Node

CALLS = ("PartitionedCall", "StatefulPartitionedCall")
DEEPEST = 32  # nested calls; TensorFlow's own models have four
_LONGEST_CHAIN = 10_000  # of names for the same tensor


class TooLarge(Exception):
    def __init__(self, nodes: int) -> None:
        super().__init__(f"more than {nodes} nodes")
        self.nodes = nodes


@dataclass(frozen=True)
class FlatNode:
    node: Node
    inputs: tuple[str, ...]  # keys of tensors
    key: str  # prefix of the keys of its outputs
    bodies: tuple[FlatBody, ...] = ()


@dataclass(frozen=True)
class FlatBody:
    name: str
    nodes: tuple[FlatNode, ...]
    inputs: tuple[tuple[str, str], ...]  # name and key
    outputs: tuple[str, ...]


@dataclass(frozen=True)
class InlinedGraph:
    nodes: tuple[FlatNode, ...]
    _aliases: dict[str, str]  # key → another key of the same tensor

    def key(self, key: str) -> str:
        """The key given by the node that produces the tensor."""
        for _ in range(_LONGEST_CHAIN):
            if key not in self._aliases:
                return key
            key = self._aliases[key]
        return key

    @property
    def every_node(self) -> Iterator[FlatNode]:
        waiting = list(reversed(self.nodes))
        while waiting:
            node = waiting.pop()
            yield node
            for body in node.bodies:
                waiting += body.nodes


def main_key(tensor: str) -> str:
    """The key of a tensor of the outermost graph: ``x`` and ``x:0`` are the same."""
    name, _, port = tensor.partition(":")
    return f"{name}:{port or 0}"


def _inner_key(tensor: str, prefix: str, calls: Collection[str]) -> str:
    """The key of a tensor in a function; the outputs of a call are identified by number alone."""
    name, *port = tensor.split(":")
    return prefix + ":".join((name, *(port[-1:] if name in calls else port)))


def inline_calls(graph: GraphDef, nodes: Sequence[Node]) -> InlinedGraph:
    """The given nodes of the outermost graph; raises TooLarge."""
    return _Inliner(graph).inline(nodes)


class _Inliner:
    def __init__(self, graph: GraphDef) -> None:
        self._functions = graph.functions
        self._aliases: dict[str, str] = {}
        self._count = self._instances = 0

    def inline(self, nodes: Sequence[Node]) -> InlinedGraph:
        return InlinedGraph(tuple(self._inline(nodes, "", None, ())), self._aliases)

    def _inline(
        self,
        nodes: Sequence[Node],
        prefix: str,
        function: FunctionDef | None,
        inside: tuple[str, ...],
    ) -> Iterator[FlatNode]:
        """``inside``: names of the enclosing functions."""
        calls = {node.name for node in nodes if self._find_called_function(node, inside)}

        def key(tensor: str) -> str:
            return main_key(tensor) if function is None else _inner_key(tensor, prefix, calls)

        for node in nodes:
            self._count += 1
            if self._count > MOST_NODES:
                raise TooLarge(MOST_NODES)
            inputs = tuple(key(name) for name in node.inputs if not name.startswith("^"))
            called = self._find_called_function(node, inside)
            if called is None:
                bodies = tuple(self._inline_bodies(node, inside))
                yield FlatNode(node, inputs, f"{prefix}{node.name}:", bodies)
                continue
            inner, outputs = self._name_new_call(called)
            for argument, source in zip(called.arguments, inputs, strict=False):
                self._aliases[inner + argument] = source
            for number, output in enumerate(outputs):
                self._aliases[f"{prefix}{node.name}:{number}"] = output
            yield from self._inline(called.nodes, inner, called, (*inside, called.name))

    def _find_called_function(self, node: Node, inside: tuple[str, ...]) -> FunctionDef | None:
        if node.op not in CALLS or len(inside) >= DEEPEST:
            return None
        name = node.function("f")
        return None if name in inside else self._functions.get(name or "")

    def _name_new_call(self, function: FunctionDef) -> tuple[str, list[str]]:
        """A unique prefix for this call, and the keys of its results."""
        self._instances += 1
        prefix = f"{self._instances}/"
        calls = {node.name for node in function.nodes if node.op in CALLS}
        return prefix, [_inner_key(tensor, prefix, calls) for tensor in function.results]

    def _inline_bodies(self, node: Node, inside: tuple[str, ...]) -> Iterator[FlatBody]:
        for label, function in self._find_functions_of(node):
            if function.name in inside or len(inside) >= DEEPEST:
                continue
            prefix, outputs = self._name_new_call(function)
            nodes = tuple(self._inline(function.nodes, prefix, function, (*inside, function.name)))
            arguments = tuple((name, prefix + name) for name in function.arguments)
            yield FlatBody(label, nodes, arguments, tuple(outputs))

    def _find_functions_of(self, node: Node) -> Iterator[tuple[str, FunctionDef]]:
        for label, kind, value in node.attributes:
            if kind not in ("function", "list"):
                continue
            for named in value if isinstance(value, tuple) else (value,):
                if isinstance(named, FunctionName) and named.name in self._functions:
                    yield label, self._functions[named.name]
