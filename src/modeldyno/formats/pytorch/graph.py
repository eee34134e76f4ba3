"""``torch.export`` programs: their graph, node by node, out of plain JSON and without PyTorch."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from modeldyno.core.graphs import MOST_NODES, Attribute, Graph, Scalar, TensorKind
from modeldyno.formats.containers.zip_members import Archive
from modeldyno.formats.digest import sha256
from modeldyno.formats.graph_building import (
    DEEPEST_BODY,
    GraphBuilder,
    Names,
    check_order,
    too_many_nodes,
)
from modeldyno.formats.name_scopes import from_module_stack
from modeldyno.formats.onnx.attributes import FIRST_ITEMS, LONGEST_TEXT, MOST_ITEMS, number
from modeldyno.formats.pytorch.exported_program import (
    DTYPES,
    TROUBLE,
    dtype_of,
    exported,
    laid_out_otherwise,
    op_name,
    shape_of,
)

# How the schema of torch.export writes a tensor, or a number that is computed as one.
_TENSORS = ("as_tensor", "as_sym_int", "as_sym_bool", "as_sym_float")
_TENSOR_LISTS = ("as_tensors", "as_optional_tensors", "as_nested_tensors", "as_sym_ints")
_NUMBERS = {"as_sym_int": "int64", "as_sym_bool": "bool", "as_sym_float": "float64"}
_WEIGHTS = ("parameter", "buffer", "tensor_constant", "custom_obj")
_MOST_ATTRIBUTES = 64


def read_graph(path: Path) -> Graph:
    """Raises ModelUnreadable, or GraphUnavailable when the graph is too large."""
    document = exported(path, Archive(path))
    try:
        return check_order(_read(path, document["graph_module"]))
    except TROUBLE as error:
        raise laid_out_otherwise(path, error) from error


def _read(path: Path, module: Any) -> Graph:
    graph = module["graph"]
    if len(graph["nodes"]) > MOST_NODES:
        raise too_many_nodes(path, len(graph["nodes"]))
    reader = _Reader(path, dict(_weight_names(module["signature"]["input_specs"])))
    inputs, outputs = reader.graph(graph, Names(), (), "input", 0)
    return reader.builder.finish("torch-export", sha256(path), path.stem, inputs, outputs)


def _weight_names(specs: Any) -> Iterator[tuple[str, str]]:
    """``p_layer1_weight`` → ``layer1.weight``: how the module calls it."""
    for spec in specs:
        for kind in _WEIGHTS:
            if kind in spec:
                argument = spec[kind]["arg"]["name"]
                called = [v for k, v in spec[kind].items() if k.endswith("_name")]
                yield argument, str(called[0]) if called else argument


class _Reader:
    def __init__(self, path: Path, weights: dict[str, str]) -> None:
        self.builder = GraphBuilder(path)
        self._weights = weights

    def graph(
        self, graph: Any, names: Names, parts: tuple[str, ...], kind: TensorKind, depth: int
    ) -> tuple[list[str], list[str]]:
        """The ids of its inputs and outputs; weights are no inputs."""
        values = graph["tensor_values"]
        inputs = []
        for argument in graph["inputs"]:
            for name, dtype in _tensors(argument):
                if name in names:
                    continue
                if name in self._weights and depth == 0:
                    self._declare(names, name, self._weights[name], "initializer", values, dtype)
                else:
                    self._declare(names, name, name, kind, values, dtype)
                    inputs.append(self._taken(names, name))
        self._nodes(graph["nodes"], names, values, parts, depth)
        outputs = [t for argument in graph["outputs"] for t in _tensors(argument)]
        return inputs, [self._taken(names, name) for name, _ in outputs]

    def _nodes(
        self, nodes: Any, names: Names, values: Any, parts: tuple[str, ...], depth: int
    ) -> None:
        for node in nodes:  # all are declared before any is taken
            for name, dtype in (t for output in node["outputs"] for t in _tensors(output)):
                self._declare(names, name, name, "node", values, dtype)
        for position, node in enumerate(nodes):
            self._node(node, position, names, parts, depth)

    def _node(
        self, node: Any, position: int, names: Names, parts: tuple[str, ...], depth: int
    ) -> None:
        name, op = str(node.get("name") or ""), op_name(node["target"])
        id_ = self.builder.node_id(name, op, position)
        stack = str((node.get("metadata") or {}).get("nn_module_stack", ""))
        own = (*parts, *(from_module_stack(stack) if not parts else ()))
        given = [(str(one.get("name", "")), one["arg"]) for one in node["inputs"]]
        settings = [_attribute(key, argument) for key, argument in given if _is_setting(argument)]
        bodies = [
            ((*own, f"{id_}[{key or 'graph'}]"), argument["as_graph"])
            for key, argument in given
            if "as_graph" in argument
        ]
        self.builder.node(
            id_,
            op,
            "",
            name,
            self.builder.scope(own),
            [self._taken(names, n) for _, argument in given for n, _ in _tensors(argument)],
            [self._taken(names, n) for output in node["outputs"] for n, _ in _tensors(output)],
            settings[:_MOST_ATTRIBUTES],
            [self.builder.scope(inner) for inner, _ in bodies],
        )
        for inner, body in bodies:
            self._body(inner, body, names, depth + 1)

    def _body(self, parts: tuple[str, ...], body: Any, names: Names, depth: int) -> None:
        if depth > DEEPEST_BODY:
            self.builder.note(f"sub-graphs nested deeper than {DEEPEST_BODY} are left out")
            return
        inputs, outputs = self.graph(body["graph"], Names(names), parts, "argument", depth)
        self.builder.body(self.builder.scope(parts), str(body["name"]), "subgraph", inputs, outputs)

    def _declare(
        self, names: Names, key: str, name: str, kind: TensorKind, values: Any, dtype: str | None
    ) -> None:
        meta = values.get(key)
        if meta is not None:
            names[key] = self.builder.tensor(name, kind, dtype_of(meta), shape_of(meta))
        else:
            names[key] = self.builder.tensor(name, kind, dtype, () if dtype else None)

    def _taken(self, names: Names, name: str) -> str:
        found = names.find(name)
        if found is None:
            self.builder.note("it uses tensors that nothing makes: PyTorch will refuse it")
            found = self.builder.tensor(name, "missing", None, None)
            names[name] = found
        return found


def _tensors(argument: Any) -> Iterator[tuple[str, str | None]]:
    """Names of the tensors in an argument, with the dtype of those that are single numbers."""
    for key in _TENSORS:
        if key in argument:
            name = argument[key].get("as_name") or argument[key].get("name")
            if name:
                yield str(name), _NUMBERS.get(key)
    for key in _TENSOR_LISTS:
        for one in argument.get(key) or ():
            for item in one if isinstance(one, list) else [one]:
                inner = item.get("as_tensor", item) if isinstance(item, dict) else {}
                name = inner.get("as_name") or inner.get("name") if inner else None
                if name:
                    yield str(name), "int64" if key == "as_sym_ints" else None


def _is_setting(argument: Any) -> bool:
    return not any(True for _ in _tensors(argument)) and "as_graph" not in argument


def _attribute(name: str, argument: Any) -> Attribute:
    """``{"as_ints": [1, 1]}``: the key is the type."""
    (key, value), *_ = argument.items()
    kind, name = str(key).removeprefix("as_")[:LONGEST_TEXT], name[:100]
    if key == "as_none":
        return Attribute(name, "none", None)
    if key == "as_scalar_type":
        return Attribute(name, "dtype", DTYPES.get(value, f"type {value}")[:LONGEST_TEXT])
    if isinstance(value, list) and all(isinstance(item, _PLAIN) for item in value):
        shown = value[: MOST_ITEMS if len(value) <= MOST_ITEMS else FIRST_ITEMS]
        note = "" if len(value) <= MOST_ITEMS else f"the first {FIRST_ITEMS} of {len(value)}"
        return Attribute(name, kind, tuple(_scalar(item) for item in shown), note)
    if isinstance(value, _PLAIN):
        return Attribute(name, kind, _scalar(value))
    text = str(value)
    note = "" if len(text) <= LONGEST_TEXT else f"the beginning of {len(text)} characters"
    return Attribute(name, kind, text[:LONGEST_TEXT], note)


_PLAIN = (bool, int, float, str)


def _scalar(value: Any) -> Scalar:
    if isinstance(value, float):
        return number(value)
    if isinstance(value, int):
        return value if abs(value) < 2**64 else str(value)[:LONGEST_TEXT]
    return str(value)[:LONGEST_TEXT]
