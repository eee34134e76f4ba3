"""ONNX: facts from the file and the weights files beside it, without loading an engine."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import TYPE_CHECKING

from modeldyno.core.errors import ModelUnreadable
from modeldyno.core.models import ExternalFile, InputSpec, ModelFacts
from modeldyno.formats.external_weights import check_weights_files, outside_folder_error
from modeldyno.formats.model_facts import (
    count_weights,
    is_integer,
    join_some,
    make_model_facts,
)
from modeldyno.formats.onnx.file import decoding_names, parse
from modeldyno.formats.onnx.index_ranges import find_index_ranges
from modeldyno.formats.onnx.messages import (
    MOST_WRITTEN_OUT,
    dtype_name,
    element_bits,
    iterate_graphs,
    iterate_nodes,
    iterate_tensors,
    make_tensor_spec,
    sort_out_functions,
)
from modeldyno.formats.onnx.packed_weights import packed_weights
from modeldyno.formats.refusals import damaged_file_error, printable_name

if TYPE_CHECKING:
    import onnx

# Domains whose operators need a library of their own, though their names look official.
_EXTENSIONS = ("ai.onnx.contrib", "com.microsoft.extensions")
_EXTERNAL_KEYS = ("location", "offset", "length", "checksum", "basepath")
# ONNX Runtime's marker for "the offset is an address in memory"; no file has this name.
_MEMORY_ADDRESS = "_ORT_MEM_ADDR_"


def read(path: Path, without_weights: bool = False) -> ModelFacts:
    """All facts in the file; raises ModelUnreadable or UnsafeFormat.

    ``without_weights``: absent weights files are listed as missing, not refused.

    Parameters are the elements of all initializers and of the constants with more than one
    element, in sub-graphs too, except those of types that only shapes and indices have. Of weights
    that operators keep several to a byte, each counts.
    """
    with decoding_names(path):
        return _make_facts(path, parse(path), without_weights)


def _make_facts(path: Path, model: onnx.ModelProto, without_weights: bool) -> ModelFacts:
    if sort_out_functions(model).are_too_many:
        raise ModelUnreadable(
            f"{printable_name(path)} calls its own functions too often",
            why=f"with every call written out, they are more than {MOST_WRITTEN_OUT} nodes",
            fix="Export it without functions that call functions",
        )
    external, missing = _external_files(path, model, without_weights)
    return make_model_facts(
        path,
        "onnx",
        "onnx",
        inputs=_read_inputs(model),
        outputs=map(make_tensor_spec, model.graph.output),
        weights=count_weights(_iterate_weights(model)),
        operators=map(_operator_name, iterate_nodes(model)),
        names=(model.graph.name, *(node.name for node in iterate_nodes(model))),
        external=external,
        missing=missing,
        opsets={opset.domain: opset.version for opset in model.opset_import},
        ir_version=model.ir_version,
        producer=f"{model.producer_name} {model.producer_version}".strip(),
        notes=_make_notes(model),
    )


def _read_inputs(model: onnx.ModelProto) -> Iterator[InputSpec]:
    """The inputs that a caller must give: old models also list their weights."""
    graph = model.graph
    weights = {tensor.name for tensor in graph.initializer}
    weights |= {sparse.values.name for sparse in graph.sparse_initializer}
    specs = [make_tensor_spec(declared) for declared in graph.input if declared.name not in weights]
    ranges = find_index_ranges(model, [spec.name for spec in specs if is_integer(spec.dtype)])
    for spec in specs:
        yield InputSpec(spec.name, spec.dtype, spec.shape, ranges.get(spec.name))


def _iterate_weights(model: onnx.ModelProto) -> Iterator[tuple[str, int]]:
    """Type and number of elements of each tensor."""
    packed = packed_weights(model)
    for tensor in _learned(model):
        dtype, elements = dtype_name(tensor.data_type), math.prod(tensor.dims)
        if dtype == "uint8" and tensor.name in packed:
            yield packed[tensor.name].unpacked(elements)
        else:
            yield dtype, elements


def _learned(model: onnx.ModelProto) -> Iterator[onnx.TensorProto]:
    for graph in iterate_graphs(model):
        yield from graph.initializer
        yield from (sparse.values for sparse in graph.sparse_initializer)
    for node in iterate_nodes(model):
        if _operator_name(node) == "Constant":
            held = [a.t for a in node.attribute if a.HasField("t")]
            yield from (tensor for tensor in held if math.prod(tensor.dims) > 1)


def _operator_name(node: onnx.NodeProto) -> str:
    """``Conv``; with its domain if that is not ONNX's own: ``com.microsoft.Attention``."""
    standard = node.domain in ("", "ai.onnx")
    return node.op_type if standard else f"{node.domain}.{node.op_type}"


def _make_notes(model: onnx.ModelProto) -> tuple[str, ...]:
    local = {(function.domain, function.name) for function in model.functions}
    custom = {
        _operator_name(node)
        for node in iterate_nodes(model)
        if _is_custom(node.domain) and (node.domain, node.op_type) not in local
    }
    if not custom:
        return ()
    names = join_some(sorted(custom))
    return (f"uses operators that ONNX does not define ({names}): engines need a library for them",)


def _is_custom(domain: str) -> bool:
    if domain.startswith(_EXTENSIONS):
        return True
    official = domain in ("", "com.microsoft") or domain.startswith(("ai.onnx", "com.microsoft."))
    return not official


# ---------------------------------------------------------------- weights beside the file


def _external_files(
    path: Path, model: onnx.ModelProto, may_be_missing: bool
) -> tuple[tuple[ExternalFile, ...], tuple[str, ...]]:
    """As ``check_weights_files``, whose errors it raises; also for locations that make no
    sense."""
    needed: dict[str, tuple[int, str]] = {}  # location → bytes it must have, and for which tensor
    for tensor in iterate_tensors(model):
        if tensor.data_location or tensor.external_data:
            location, end = _find_end_in_file(path, tensor)
            needed[location] = max(needed.get(location, (0, "")), (end, tensor.name))
    return check_weights_files(path, dict(sorted(needed.items())), may_be_missing)


def _find_end_in_file(path: Path, tensor: onnx.TensorProto) -> tuple[str, int]:
    """The file that contains a tensor, and the offset at which the tensor ends."""
    entries = _location_entries(path, tensor)
    location = entries.get("location", "")
    _refuse_escape(path, location)
    _refuse_itself(path, location, tensor)
    offset = _byte_count(path, tensor, entries.get("offset", "0"))
    length = _byte_count(path, tensor, entries.get("length", "0")) or _declared_bytes(tensor)
    return location, offset + length


def _location_entries(path: Path, tensor: onnx.TensorProto) -> dict[str, str]:
    """The entries that locate a tensor; repeated keys are refused, as readers differ on them."""
    keys = [entry.key for entry in tensor.external_data]
    strange = [key for key in keys if key not in _EXTERNAL_KEYS or keys.count(key) > 1]
    if strange or any(size < 0 for size in tensor.dims):
        why = f"the entry {strange[0][:40]!r}" if strange else f"the shape {list(tensor.dims)}"
        why += f" makes no sense for tensor {tensor.name!r}, whose weights are in another file"
        raise damaged_file_error(path, why, fix="Export the model again")
    return {entry.key: entry.value for entry in tensor.external_data}


def _byte_count(path: Path, tensor: onnx.TensorProto, text: str) -> int:
    if text.isascii() and text.isdecimal() and len(text) < 20:
        return int(text)
    why = f"the place of tensor {tensor.name!r} in its weights file is {text[:40]!r}"
    raise damaged_file_error(
        path, f"{why}, which is not a number of bytes", fix="Export the model again"
    )


def _declared_bytes(tensor: onnx.TensorProto) -> int:
    elements = int(math.prod(tensor.dims))
    return (elements * element_bits(tensor.data_type) + 7) // 8


def _refuse_escape(path: Path, location: str) -> None:
    windows = PureWindowsPath(location)  # also splits at backslashes
    absolute = windows.anchor or PurePosixPath(location).is_absolute()
    escapes = absolute or ".." in windows.parts or _MEMORY_ADDRESS in location
    if not location or "\0" in location or escapes:
        raise outside_folder_error(path, location, "it must be a relative path without `..`")


def _refuse_itself(path: Path, location: str, tensor: onnx.TensorProto) -> None:
    """The model's own bytes would be read as weights, and we copy it under another name."""
    if os.path.realpath(path.parent / location) != os.path.realpath(path):
        return
    raise ModelUnreadable(
        f"{printable_name(path)} names itself as the file of its weights",
        why=f"it keeps tensor {tensor.name!r} in {location[:200]!r}, which is the model itself; "
        "weights outside a model must be in another file beside it",
        fix="Export the model again, with its weights inside, or in a file of another name",
    )
