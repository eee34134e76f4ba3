"""Shapes that an ONNX file leaves out, inferred from its operators. Weights are never needed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from modeldyno.formats.onnx.functions import MOST_WRITTEN_OUT, functions_of
from modeldyno.formats.onnx.traversal import graphs, tensors

if TYPE_CHECKING:
    from onnx import ModelProto, TensorProto

# Larger tensors are weights: no operator takes its output's shape from a kilobyte of numbers.
_LARGEST_CONSTANT = 1024
_LARGEST_MODEL = 256 << 20  # bytes without weights; it is copied three times
_DATA = (
    *("raw_data", "float_data", "int32_data", "int64_data", "double_data", "uint64_data"),
    "string_data",
)


def drop_weights(model: ModelProto) -> None:
    """Forget the numbers, keep types and shapes; names of other files are forgotten, too."""
    for tensor in tensors(model):
        if tensor.data_location or tensor.ByteSize() > _LARGEST_CONSTANT:
            _empty(tensor)


def _empty(tensor: TensorProto) -> None:
    for field in (*_DATA, "external_data", "data_location"):
        tensor.ClearField(field)


def with_shapes(model: ModelProto) -> tuple[ModelProto, str]:
    """The model with every shape that can be told, and a note when that failed."""
    if not _lacks_shapes(model):
        return model, ""
    size = model.ByteSize()
    if size > _LARGEST_MODEL:
        return model, f"shapes are those in the file: {size >> 20} MiB are too much to infer more"
    if functions_of(model).are_too_many:
        return model, (
            "shapes are those in the file: the calls of its functions stand for more than "
            f"{MOST_WRITTEN_OUT} nodes"
        )
    from onnx import shape_inference

    try:
        return shape_inference.infer_shapes(model, data_prop=True), ""
    except Exception as error:  # noqa: BLE001 - native code, fed by a stranger: it raises anything
        why = " ".join(str(error).split())[:160]
        return model, f"shapes are those in the file, inferring more failed: {why}"


def _lacks_shapes(model: ModelProto) -> bool:
    for graph in graphs(model):
        known = {value.name for value in (*graph.value_info, *graph.output)}
        if any(name and name not in known for node in graph.node for name in node.output):
            return True
    return False
