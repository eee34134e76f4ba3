"""Weights of a few bits that operators of ONNX Runtime keep in bytes, several in each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from modeldyno.formats.onnx.messages import iterate_nodes

if TYPE_CHECKING:
    import onnx

# By operator: the inputs that may be packed, weights first, and the attribute that says how many
# bits each has.
_PACKED: dict[str, tuple[tuple[int, ...], str]] = {
    "MatMulNBits": ((1, 3), "bits"),
    "MatMulBnb4": ((1,), ""),
    "GatherBlockQuantized": ((0, 3), "bits"),
    "QMoE": ((2, 5, 8), "expert_weight_bits"),
}
_USUAL_BITS = 4


@dataclass(frozen=True)
class PackedWeights:
    dtype: str
    bits: int
    elements: int | None = None  # without those that only fill the last block of each row

    def unpacked(self, stored_bytes: int) -> tuple[str, int]:
        """Type and number of the weights in so many bytes."""
        held = stored_bytes * 8 // self.bits
        return self.dtype, held if self.elements is None else min(self.elements, held)


def packed_weights(model: onnx.ModelProto) -> dict[str, PackedWeights]:
    """By the name of the tensor."""
    packed: dict[str, PackedWeights] = {}
    for node in iterate_nodes(model):
        if node.domain != "com.microsoft" or node.op_type not in _PACKED:
            continue
        places, attribute = _PACKED[node.op_type]
        numbers = {each.name: each.i for each in node.attribute}
        bits = numbers.get(attribute, _USUAL_BITS)
        if bits not in (2, 4, 8):
            continue
        dtype = "float4" if node.op_type == "MatMulBnb4" else f"uint{bits}"
        elements = numbers.get("K", 0) * numbers.get("N", 0)
        for place in places:
            if place < len(node.input) and node.input[place]:
                is_whole = place == places[0] and elements > 0
                packed[node.input[place]] = PackedWeights(
                    dtype, bits, elements if is_whole else None
                )
    return packed
