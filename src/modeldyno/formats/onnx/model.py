"""ONNX: what the file says, without loading its weights into an engine."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from modeldyno.core.domains import telling_words
from modeldyno.core.errors import ModelUnreadable
from modeldyno.core.models import InputSpec, ModelFacts
from modeldyno.formats.digest import sha256
from modeldyno.formats.onnx.damage import damage
from modeldyno.formats.onnx.external_data import external_files
from modeldyno.formats.onnx.functions import MOST_WRITTEN_OUT, functions_of
from modeldyno.formats.onnx.index_ranges import index_ranges
from modeldyno.formats.onnx.traversal import graphs, nodes, tensors
from modeldyno.formats.onnx.types import dtype_name, tensor_spec
from modeldyno.formats.refusals import shown

if TYPE_CHECKING:
    from onnx import ModelProto, NodeProto, TensorProto

PROTOBUF_LIMIT = 2**31 - 1
# Types of shapes, axes and conditions: constants of these are part of the graph, not learned.
_NEVER_LEARNED = ("int64", "uint64", "bool", "string")
# Domains whose operators need a library of their own, though their names look official.
_EXTENSIONS = ("ai.onnx.contrib", "com.microsoft.extensions")


def read(path: Path, without_weights: bool = False) -> ModelFacts:
    """Everything the file says; raises ModelUnreadable or UnsafeFormat.

    ``without_weights``: weights files that are not there are listed as missing, not refused.

    Parameters are the elements of all initializers and of the constants with more than one
    element, in sub-graphs too, except those of types that only shapes and indices have.
    """
    try:
        return _facts(path, parse(path), without_weights)
    except UnicodeDecodeError as error:
        raise undecodable(path) from error


def undecodable(path: Path) -> ModelUnreadable:
    """protobuf decodes a name when it is looked at, not before."""
    return ModelUnreadable(
        f"{shown(path)} is damaged",
        why="a name in it is not UTF-8 text",
        fix="Copy, download or export it again",
    )


def parse(path: Path) -> ModelProto:
    """The whole file, without the weights beside it; raises ModelUnreadable."""
    import onnx
    from google.protobuf.message import DecodeError  # type: ignore[import-untyped]  # has no types

    size = path.stat().st_size
    if size > PROTOBUF_LIMIT:
        raise ModelUnreadable(
            f"{shown(path)} is too large for one ONNX file",
            why=f"it has {size} bytes, and protobuf cannot read more than {PROTOBUF_LIMIT}",
            fix="Export it with external data: onnx.save(model, path, save_as_external_data=True)",
        )
    try:
        return onnx.load(path, format="protobuf", load_external_data=False)
    except DecodeError as error:
        raise ModelUnreadable(
            f"{shown(path)} is a damaged ONNX model",
            why=damage(path),
            fix="Copy, download or export it again",
        ) from error


def _facts(path: Path, model: ModelProto, without_weights: bool) -> ModelFacts:
    if functions_of(model).are_too_many:
        raise ModelUnreadable(
            f"{shown(path)} calls its own functions too often",
            why=f"with every call written out, they are more than {MOST_WRITTEN_OUT} nodes",
            fix="Export it without functions that call functions",
        )
    external, missing = external_files(path, tensors(model), without_weights)
    weights = _weights_by_dtype(model)
    return ModelFacts(
        path=str(path),
        format="onnx",
        framework="onnx",
        sha256=sha256(path),
        size_bytes=path.stat().st_size + sum(file.size_bytes for file in external),
        parameters=sum(weights.values()),
        inputs=_inputs(model),
        outputs=tuple(tensor_spec(output) for output in model.graph.output),
        external=external,
        opsets={opset.domain: opset.version for opset in model.opset_import},
        ir_version=model.ir_version,
        producer=f"{model.producer_name} {model.producer_version}".strip(),
        nodes_by_op=dict(Counter(_op(node) for node in nodes(model)).most_common()),
        weights_by_dtype=weights,
        notes=_notes(model),
        missing=missing,
        telling=telling_words((model.graph.name, *(node.name for node in nodes(model)))),
    )


def _inputs(model: ModelProto) -> tuple[InputSpec, ...]:
    """What a caller must give: old models also list their weights as inputs."""
    graph = model.graph
    weights = {t.name for t in graph.initializer} | {
        sparse.values.name for sparse in graph.sparse_initializer
    }
    specs = [tensor_spec(value) for value in graph.input if value.name not in weights]
    integers = [spec.name for spec in specs if spec.dtype.lstrip("u").startswith("int")]
    ranges = index_ranges(model, integers)
    return tuple(
        InputSpec(spec.name, spec.dtype, spec.shape, ranges.get(spec.name)) for spec in specs
    )


def _weights_by_dtype(model: ModelProto) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for tensor in _weights(model):
        dtype = dtype_name(tensor.data_type)
        if dtype not in _NEVER_LEARNED:
            counts[dtype] += math.prod(tensor.dims)
    return dict(counts.most_common())


def _weights(model: ModelProto) -> Iterator[TensorProto]:
    for graph in graphs(model):
        yield from graph.initializer
        yield from (sparse.values for sparse in graph.sparse_initializer)
    for node in nodes(model):
        if _op(node) == "Constant":
            held = [a.t for a in node.attribute if a.HasField("t")]
            yield from (tensor for tensor in held if math.prod(tensor.dims) > 1)


def _op(node: NodeProto) -> str:
    """``Conv``, or with its domain where that is not ONNX's own: ``com.microsoft.Attention``."""
    standard = node.domain in ("", "ai.onnx")
    return node.op_type if standard else f"{node.domain}.{node.op_type}"


def _notes(model: ModelProto) -> tuple[str, ...]:
    local = {(function.domain, function.name) for function in model.functions}
    custom = {
        _op(node)
        for node in nodes(model)
        if _is_custom(node.domain) and (node.domain, node.op_type) not in local
    }
    if not custom:
        return ()
    names = ", ".join(sorted(custom)[:4]) + (" and more" if len(custom) > 4 else "")
    return (f"uses operators that ONNX does not define ({names}): engines need a library for them",)


def _is_custom(domain: str) -> bool:
    if domain.startswith(_EXTENSIONS):
        return True
    official = domain in ("", "com.microsoft") or domain.startswith(("ai.onnx", "com.microsoft."))
    return not official
