"""``torch.export`` programs: their graph, node by node, from plain JSON and without PyTorch."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from modeldyno.core.graphs import Attribute, Graph, TensorKind
from modeldyno.formats.containers.zip_members import ModelArchive
from modeldyno.formats.graph_attributes import (
    LONGEST_TEXT,
    MOST_ATTRIBUTES,
    make_list_attribute,
    make_text_attribute,
    to_scalar,
)
from modeldyno.formats.graph_building import Ends, GraphBuilder, Names, NestedGraph, Parts
from modeldyno.formats.name_scopes import scopes_from_module_stack
from modeldyno.formats.pytorch.exported_program import (
    DTYPES,
    LAYOUT_ERRORS,
    dtype_of,
    op_name,
    read_program_json,
    shape_of,
    unknown_layout_error,
)

# The keys of torch.export for a tensor, or for a number that is computed like one.
_TENSORS = ("as_tensor", "as_sym_int", "as_sym_bool", "as_sym_float")
_TENSOR_LISTS = ("as_tensors", "as_optional_tensors", "as_nested_tensors", "as_sym_ints")
_NUMBERS = {"as_sym_int": "int64", "as_sym_bool": "bool", "as_sym_float": "float64"}
_WEIGHTS = ("parameter", "buffer", "tensor_constant", "custom_obj")
_PLAIN = (bool, int, float, str)


def read_graph(path: Path) -> Graph:
    """Raises ModelUnreadable, or GraphUnavailable if the graph is too large."""
    document = read_program_json(path, ModelArchive(path))
    try:
        module = document["graph_module"]
        graph = module["graph"]
        weights = dict(_iterate_weight_names(module["signature"]["input_specs"]))
        reader = _ExportGraphReader(path, weights)
        reader.builder.require_room(len(graph["nodes"]))
        ends = reader.add_graph(graph, Names(), "input", (), 0)
        return reader.builder.finish("torch-export", path.stem, *ends)
    except LAYOUT_ERRORS as error:
        raise unknown_layout_error(path, error) from error


def _iterate_weight_names(specs: Any) -> Iterator[tuple[str, str]]:
    """``p_layer1_weight`` → ``layer1.weight``, its name in the module."""
    for spec in specs:
        for kind in _WEIGHTS:
            if kind in spec:
                argument = spec[kind]["arg"]["name"]
                names = [text for key, text in spec[kind].items() if key.endswith("_name")]
                yield argument, str(names[0]) if names else argument


class _ExportGraphReader:
    def __init__(self, path: Path, weights: dict[str, str]) -> None:
        self.builder = GraphBuilder(path)
        self._weights = weights

    def add_graph(
        self, graph: Any, names: Names, kind: TensorKind, parts: Parts, depth: int
    ) -> Ends:
        """Weights do not count as inputs."""
        types = graph["tensor_values"]
        inputs = []
        for name, dtype in _tensors_of(graph["inputs"]):
            if name in names.maps[0]:
                continue
            if name in self._weights and depth == 0:
                self._declare(names, name, self._weights[name], "initializer", types, dtype)
            else:
                self._declare(names, name, name, kind, types, dtype)
                inputs.append(self.builder.tensor_id(names, name))
        for node in graph["nodes"]:  # all outputs are declared before the first input is looked up
            for name, dtype in _tensors_of(node["outputs"]):
                self._declare(names, name, name, "node", types, dtype)
        for position, node in enumerate(graph["nodes"]):
            self._add_node(node, position, names, parts, depth)
        return inputs, self._tensor_ids(names, graph["outputs"])

    def _add_node(self, node: Any, position: int, names: Names, parts: Parts, depth: int) -> None:
        stack = str((node.get("metadata") or {}).get("nn_module_stack", ""))
        arguments = [(str(entry.get("name", "")), entry["arg"]) for entry in node["inputs"]]
        settings = [_attribute(*entry) for entry in arguments if _is_setting(entry[1])]
        bodies = [(n or "graph", a["as_graph"]) for n, a in arguments if "as_graph" in a]
        self.builder.add_node(
            op_name(node["target"]),
            str(node.get("name") or ""),
            position,
            parts or scopes_from_module_stack(stack),
            self._tensor_ids(names, [argument for _, argument in arguments]),
            self._tensor_ids(names, node["outputs"]),
            settings[:MOST_ATTRIBUTES],
            nested=[
                NestedGraph(
                    *(label, str(body["name"])),
                    partial(self.add_graph, body["graph"], names.new_child(), "argument"),
                )
                for label, body in bodies
            ],
            depth=depth,
        )

    def _declare(
        self, names: Names, key: str, name: str, kind: TensorKind, types: Any, dtype: str | None
    ) -> None:
        meta = types.get(key)
        if meta is not None:
            names[key] = self.builder.add_tensor(name, kind, dtype_of(meta), shape_of(meta))
        else:
            names[key] = self.builder.add_tensor(name, kind, dtype, () if dtype else None)

    def _tensor_ids(self, names: Names, arguments: Any) -> list[str]:
        return [self.builder.tensor_id(names, name) for name, _ in _tensors_of(arguments)]


def _tensors_of(arguments: Any) -> Iterator[tuple[str, str | None]]:
    """Names of the tensors among the arguments, with the dtype of those that are numbers."""
    for argument in arguments:
        for key in _TENSORS:
            if key in argument:
                name = argument[key].get("as_name") or argument[key].get("name")
                if name:
                    yield str(name), _NUMBERS.get(key)
        for key in _TENSOR_LISTS:
            for entry in argument.get(key) or ():
                for tensor in entry if isinstance(entry, list) else [entry]:
                    inner = tensor.get("as_tensor", tensor) if isinstance(tensor, dict) else {}
                    name = inner.get("as_name") or inner.get("name") if inner else None
                    if name:
                        yield str(name), "int64" if key == "as_sym_ints" else None


def _is_setting(argument: Any) -> bool:
    return not any(True for _ in _tensors_of([argument])) and "as_graph" not in argument


def _attribute(name: str, argument: Any) -> Attribute:
    """``{"as_ints": [1, 1]}``: the key is the type."""
    (key, value), *_ = argument.items()
    kind, name = str(key).removeprefix("as_")[:LONGEST_TEXT], name[:100]
    if key == "as_none":
        return Attribute(name, "none", None)
    if key == "as_scalar_type":
        return Attribute(name, "dtype", DTYPES.get(value, f"type {value}")[:LONGEST_TEXT])
    if isinstance(value, list) and all(isinstance(item, _PLAIN) for item in value):
        return make_list_attribute(name, kind, value)
    if isinstance(value, bool | int | float):
        return Attribute(name, kind, to_scalar(value))
    return make_text_attribute(name, str(value), kind)
