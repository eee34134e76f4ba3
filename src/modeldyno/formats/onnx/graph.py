"""ONNX: its graph, node by node. Weights are named, not read."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from modeldyno.core.graphs import Attribute, Graph, Scalar, TensorKind
from modeldyno.core.models import TensorSpec
from modeldyno.formats import name_scopes
from modeldyno.formats.file_reading import decode_text
from modeldyno.formats.graph_attributes import (
    LONGEST_NAME,
    LONGEST_TEXT,
    MOST_ATTRIBUTES,
    make_list_attribute,
    to_number_scalar,
    to_scalar,
)
from modeldyno.formats.graph_building import Ends, GraphBuilder, Names, NestedGraph, Parts
from modeldyno.formats.onnx.file import LARGEST_CONSTANT, decoding_names, parse_without_weights
from modeldyno.formats.onnx.messages import (
    MOST_WRITTEN_OUT,
    dtype_name,
    iterate_graphs,
    iterate_tensors,
    make_tensor_spec,
    sort_out_functions,
)

if TYPE_CHECKING:
    import onnx

_OWN_DOMAINS = ("", "ai.onnx")
_INVENTED = "unk__"  # prefix of the names that shape inference gives to unknown sizes
_LARGEST_INFERRED = 256 << 20  # bytes without weights; shape inference copies them three times
_NUMBERS_OF_TENSOR = (
    *("raw_data", "float_data", "int32_data", "int64_data", "double_data", "uint64_data"),
    "string_data",
)
_MOST_ELEMENTS = 16  # of a tensor that is shown
_HIGHEST_RANK = 64


def read_graph(path: Path, infer_shapes: bool = True) -> Graph:
    """Raises ModelUnreadable, or GraphUnavailable if the graph is too large."""
    with decoding_names(path):
        model = parse_without_weights(path)
        count = sum(len(graph.node) for graph in iterate_graphs(model))
        count += sum(len(function.node) for function in model.functions)
        builder = GraphBuilder(path)
        builder.require_room(count)
        _drop_weights(model)
        note = ""
        if infer_shapes:
            model, note = _infer_shapes(model)
        return _OnnxGraphReader(builder, model).read(note)


class _OnnxGraphReader:
    def __init__(self, builder: GraphBuilder, model: onnx.ModelProto) -> None:
        self._model = model
        self._builder = builder
        self._functions = {(f.domain, f.name): f for f in model.functions}
        self._unshaped = 0

    def read(self, note: str) -> Graph:
        graph = self._model.graph
        if note:
            self._builder.add_note(note)
        inputs, outputs = self._add_graph(graph, Names(), "input", (), 0)
        for function in self._functions.values():
            self._add_function(function)
        if self._unshaped:
            self._builder.add_note(f"{self._unshaped} tensors have no known shape")
        return self._builder.finish("onnx", graph.name, inputs, outputs)

    def _add_graph(
        self, graph: onnx.GraphProto, names: Names, input_kind: TensorKind, parts: Parts, depth: int
    ) -> Ends:
        types = {v.name: _tensor_spec(v) for v in (*graph.value_info, *graph.input, *graph.output)}
        weights = [(tensor, tensor.dims) for tensor in graph.initializer]
        weights += [(sparse.values, sparse.dims) for sparse in graph.sparse_initializer]
        for tensor, dims in weights:
            if tensor.name not in names.maps[0]:
                names[tensor.name] = self._builder.add_tensor(
                    tensor.name, "initializer", dtype_name(tensor.data_type), tuple(dims)
                )
        inputs = []
        for declared in graph.input:
            if declared.name not in names.maps[0]:
                self._declare(names, declared.name, input_kind, types)
                inputs.append(self._builder.tensor_id(names, declared.name))
        self._add_nodes(graph.node, names, types, parts, depth)
        return inputs, [self._builder.tensor_id(names, output.name) for output in graph.output]

    def _add_function(self, function: onnx.FunctionProto) -> None:
        """A function can refer to its arguments only; its body is listed once."""

        def read(parts: Parts, depth: int) -> Ends:
            names = Names()
            types = {declared.name: _tensor_spec(declared) for declared in function.value_info}
            for name in dict.fromkeys(function.input):
                self._declare(names, name, "argument", types)
            self._add_nodes(function.node, names, types, parts, depth)
            inputs, outputs = (
                [self._builder.tensor_id(names, name) for name in side]
                for side in (function.input, function.output)
            )
            return inputs, outputs

        self._builder.add_body(_function_scope(function), function.name, 0, read, "function")

    def _add_nodes(
        self,
        nodes: Iterable[onnx.NodeProto],
        names: Names,
        types: dict[str, TensorSpec],
        parts: Parts,
        depth: int,
    ) -> None:
        # All outputs are declared before the first input is looked up.
        outputs = [(node, self._declare_outputs(node, names, types)) for node in nodes]
        for position, (node, made) in enumerate(outputs):
            function = self._functions.get((node.domain, node.op_type))
            self._builder.add_node(
                node.op_type,
                node.name,
                position,
                (*parts, *_strip_scope(parts, _scope_of(node))),
                [self._builder.tensor_id(names, name) if name else "" for name in node.input],
                made,
                read_attributes(node.attribute),
                domain="" if node.domain in _OWN_DOMAINS else node.domain,
                nested=list(self._add_nested_graphs(node, names)),
                depth=depth,
                function=_function_scope(function) if function is not None else (),
            )

    def _add_nested_graphs(self, node: onnx.NodeProto, outer: Names) -> Iterator[NestedGraph]:
        for attribute in node.attribute:
            labelled = [(attribute.name, attribute.g)] if attribute.HasField("g") else []
            labelled += [(f"{attribute.name}.{i}", g) for i, g in enumerate(attribute.graphs)]
            for label, graph in labelled:
                read = partial(self._add_graph, graph, outer.new_child(), "argument")
                yield NestedGraph(label, graph.name, read)

    def _declare_outputs(
        self, node: onnx.NodeProto, names: Names, types: dict[str, TensorSpec]
    ) -> list[str]:
        ids = []
        for name in node.output:
            if name in names.maps[0] and name:
                self._builder.add_note(
                    "two nodes produce the same tensor: engines will refuse the model"
                )
            if name:
                self._declare(names, name, "node", types)
            ids.append(self._builder.tensor_id(names, name) if name else "")
        return ids

    def _declare(
        self, names: Names, name: str, kind: TensorKind, types: dict[str, TensorSpec]
    ) -> None:
        spec = types.get(name)
        dtype = None if spec is None or spec.dtype == "undefined" else spec.dtype
        shape = None if spec is None else spec.shape
        self._unshaped += shape is None
        names[name] = self._builder.add_tensor(name, kind, dtype, shape)


def _function_scope(function: onnx.FunctionProto) -> Parts:
    return (f"{function.domain}.{function.name}()" if function.domain else f"{function.name}()",)


def _scope_of(node: onnx.NodeProto) -> Parts:
    metadata = {decode_text(entry.key): decode_text(entry.value) for entry in node.metadata_props}
    scope = name_scopes.scopes_from_metadata(metadata) if metadata else None
    if scope is not None:
        return scope
    return name_scopes.scopes_from_name(decode_text(node.name or next(iter(node.output), "")))


def _strip_scope(around: Parts, parts: Parts) -> Parts:
    """Names inside a body may repeat the scopes around it."""
    plain = tuple(part for part in around if not part.endswith("]"))
    return parts[len(plain) :] if plain and parts[: len(plain)] == plain else parts


def _tensor_spec(declared: onnx.ValueInfoProto) -> TensorSpec:
    spec = make_tensor_spec(declared)
    if spec.shape is None:
        return spec
    known = tuple(
        None if isinstance(dim, str) and dim.startswith(_INVENTED) else dim for dim in spec.shape
    )
    return TensorSpec(spec.name, spec.dtype, known)


# ---------------------------------------------------------------- shapes


def _drop_weights(model: onnx.ModelProto) -> None:
    """Remove numbers and the names of other files; keep types and shapes."""
    for tensor in iterate_tensors(model):
        if tensor.data_location or tensor.ByteSize() > LARGEST_CONSTANT:
            for field in (*_NUMBERS_OF_TENSOR, "external_data", "data_location"):
                tensor.ClearField(field)


def _infer_shapes(model: onnx.ModelProto) -> tuple[onnx.ModelProto, str]:
    """The model with every shape that can be inferred, and a note if that failed."""
    if not _lacks_shapes(model):
        return model, ""
    size = model.ByteSize()
    if size > _LARGEST_INFERRED:
        return model, f"shapes are those in the file: {size >> 20} MiB are too much to infer more"
    if sort_out_functions(model).are_too_many:
        return model, (
            "shapes are those in the file: the calls of its functions stand for more than "
            f"{MOST_WRITTEN_OUT} nodes"
        )
    from onnx import shape_inference

    try:
        return shape_inference.infer_shapes(model, data_prop=True), ""
    except Exception as error:  # noqa: BLE001 - native code with untrusted input raises anything
        why = " ".join(str(error).split())[:160]
        return model, f"shapes are those in the file, inferring more failed: {why}"


def _lacks_shapes(model: onnx.ModelProto) -> bool:
    for graph in iterate_graphs(model):
        known = {declared.name for declared in (*graph.value_info, *graph.output)}
        if any(name and name not in known for node in graph.node for name in node.output):
            return True
    return False


# ---------------------------------------------------------------- attributes


def read_attributes(protos: Sequence[onnx.AttributeProto]) -> list[Attribute]:
    kept = [read_attribute(proto) for proto in protos[:MOST_ATTRIBUTES]]
    left_out = len(protos) - MOST_ATTRIBUTES
    if left_out > 0:
        kept.append(Attribute("…", "undefined", None, f"{left_out} more attributes"))
    return kept


def read_attribute(proto: onnx.AttributeProto) -> Attribute:
    name, kind = decode_text(proto.name)[:LONGEST_NAME], _attribute_kind(proto)
    if proto.ref_attr_name:
        given = decode_text(proto.ref_attr_name)[:LONGEST_NAME]
        return Attribute(name, kind, None, f"the argument of its caller named {given}")
    match kind:
        case "int":
            return Attribute(name, kind, proto.i)
        case "float":
            return Attribute(name, kind, to_number_scalar(proto.f))
        case "string":
            return Attribute(name, kind, *_decode_text(proto.s))
        case "ints" | "floats" | "strings":
            return make_list_attribute(name, kind, getattr(proto, kind), _to_scalar)
        case "tensor":
            return _read_tensor_attribute(name, proto.t)
        case "sparse_tensor":
            sparse = proto.sparse_tensor
            dtype = dtype_name(sparse.values.data_type)
            return Attribute(name, kind, None, "not shown", dtype, _checked_shape(sparse.dims))
        case "tensors" | "sparse_tensors" | "graphs" | "type_protos":
            return Attribute(name, kind, None, f"{len(getattr(proto, kind))} of them")
        case "graph":
            return Attribute(name, kind, None, "its nodes are in a group of their own")
        case _:
            return Attribute(name, kind, None, "not shown")


def _attribute_kind(proto: onnx.AttributeProto) -> str:
    from onnx import AttributeProto

    if proto.type in AttributeProto.AttributeType.values() and proto.type:
        return str(AttributeProto.AttributeType.Name(proto.type)).lower()
    fields = {"f": "float", "i": "int", "s": "string", "t": "tensor", "g": "graph"}
    for field, kind in fields.items():  # before IR version 2, files do not state it
        if proto.HasField(field):
            return kind
    for field in ("floats", "ints", "strings", "tensors", "graphs"):
        if len(getattr(proto, field)):
            return field
    return "undefined"


def _decode_text(encoded: bytes) -> tuple[str | None, str]:
    """A short text unchanged; otherwise its beginning or its size."""
    is_short = len(encoded) <= 4 * LONGEST_TEXT
    try:
        text = encoded[: 4 * LONGEST_TEXT + 4].decode("utf-8", "strict" if is_short else "ignore")
    except UnicodeDecodeError:
        return None, f"{len(encoded)} bytes that are not text"
    if is_short and len(text) <= LONGEST_TEXT:
        return text, ""
    return text[:LONGEST_TEXT], f"the beginning of {len(encoded)} bytes"


def _to_scalar(element: Any) -> Scalar:
    if isinstance(element, bytes):
        text, note = _decode_text(element)
        return note if text is None else text
    return to_scalar(element)


def _read_tensor_attribute(name: str, tensor: onnx.TensorProto) -> Attribute:
    dtype, shape = dtype_name(tensor.data_type), _checked_shape(tensor.dims)
    count = math.prod(tensor.dims) if shape is not None else _MOST_ELEMENTS + 1
    if min(tensor.dims, default=0) < 0 or count > _MOST_ELEMENTS or tensor.data_location:
        return Attribute(name, "tensor", None, f"{count} elements, not shown", dtype, shape)
    elements = _read_elements(tensor)
    note = "its elements cannot be read" if elements is None else ""
    return Attribute(name, "tensor", elements, note, dtype, shape)


def _read_elements(tensor: onnx.TensorProto) -> tuple[Scalar, ...] | None:
    from onnx import numpy_helper

    try:
        flat = numpy_helper.to_array(tensor).ravel().tolist()
        return tuple(map(_to_element, flat))
    except Exception:  # noqa: BLE001 - a damaged tensor fails in many ways, all alike here
        return None


def _to_element(element: Any) -> Scalar:
    """Types unknown to numpy have scalars of their own."""
    is_known = isinstance(element, (bool, int, bytes, str, complex))
    return _to_scalar(element if is_known else float(element))


def _checked_shape(dims: Iterable[int]) -> tuple[int, ...] | None:
    sizes = tuple(dims)
    return sizes if len(sizes) <= _HIGHEST_RANK else None
