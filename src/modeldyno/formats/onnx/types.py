"""ONNX's types and shapes in our words: numpy's dtype names, our dimensions."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from modeldyno.core.models import Dim, TensorSpec

if TYPE_CHECKING:
    from onnx import TensorShapeProto, TypeProto, ValueInfoProto

# Exporters write these where they mean "anything"; as symbols they would tie strangers together.
_NOT_A_SYMBOL = ("", "?", "-1", "None")


@lru_cache(256)
def dtype_name(elem_type: int) -> str:
    """numpy's name, or ml_dtypes' for the types numpy lacks; "string" for strings."""
    from onnx import TensorProto, helper

    if elem_type == TensorProto.STRING:
        return "string"
    try:
        return helper.tensor_dtype_to_np_dtype(elem_type).name
    except KeyError:
        return "undefined" if elem_type == TensorProto.UNDEFINED else f"unknown({elem_type})"


def bits(elem_type: int) -> int:
    """Of one element, as it is stored."""
    name = dtype_name(elem_type)
    for narrow, width in (("int4", 4), ("int2", 2), ("float4", 4), ("float6", 6)):
        if narrow in name:
            return width
    try:
        from onnx import helper

        return 8 * helper.tensor_dtype_to_np_dtype(elem_type).itemsize
    except KeyError:
        return 0


def tensor_spec(value: ValueInfoProto) -> TensorSpec:
    return TensorSpec(value.name, _type_name(value.type), _shape(value.type))


def _type_name(value: TypeProto) -> str:
    """A tensor's dtype, or what else it is: ``sequence(float32)``, ``map(int64, float32)``."""
    match value.WhichOneof("value"):
        case "tensor_type":
            return dtype_name(value.tensor_type.elem_type)
        case "sequence_type":
            return f"sequence({_type_name(value.sequence_type.elem_type)})"
        case "optional_type":
            return f"optional({_type_name(value.optional_type.elem_type)})"
        case "map_type":
            key = dtype_name(value.map_type.key_type)
            return f"map({key}, {_type_name(value.map_type.value_type)})"
        case "sparse_tensor_type":
            return f"sparse({dtype_name(value.sparse_tensor_type.elem_type)})"
        case "opaque_type":
            return f"opaque({value.opaque_type.name})"
        case _:
            return "undefined"


def _shape(value: TypeProto) -> tuple[Dim, ...] | None:
    """Of a sequence or an optional value, that of what it holds."""
    match value.WhichOneof("value"):
        case "sequence_type":
            return _shape(value.sequence_type.elem_type)
        case "optional_type":
            return _shape(value.optional_type.elem_type)
        case "tensor_type" | "sparse_tensor_type" as kind:
            tensor = getattr(value, kind)
            return tuple(map(_dim, tensor.shape.dim)) if tensor.HasField("shape") else None
        case _:
            return None


def _dim(dim: TensorShapeProto.Dimension) -> Dim:
    if dim.HasField("dim_value"):
        return dim.dim_value if dim.dim_value >= 0 else None
    symbol = dim.dim_param.strip()
    return None if symbol in _NOT_A_SYMBOL else symbol
