"""What LiteRT's operators take and make, as its interpreter lists them after a call.

XNNPACK names and numbers its operators in its own way. But it runs one part of the model after the
other, and inside of a part it keeps the order of the file. So where it has as many operators of a
kind as that part of the file, the first is the first. Where it has not, it merged some or split
them, and nobody can tell which.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from modeldyno.core.work import Operand, Operands, plain_name
from modeldyno.engines.litert_library import DELEGATES, OPERATOR, XNNPACK_OPERATOR, Recorded

_SIZES_FIRST = ("TRANSPOSE_CONV", "CONV_3D_TRANSPOSE")
# Their weights are listed in an order that core/work.py does not know.
_UNKNOWN = ("LSTM", "RNN")
# XNNPACK's names, as plain ones, and those of the file. It makes a product of many a convolution.
_KINDS = (
    ("convolution fullyconnected", "CONV_2D DEPTHWISE_CONV_2D FULLY_CONNECTED"),
    ("deconvolution", "TRANSPOSE_CONV"),
    ("batchmatrixmultiply", "BATCH_MATMUL"),
    ("maxpooling", "MAX_POOL_2D"),
    ("averagepooling", "AVERAGE_POOL_2D"),
    ("mean", "MEAN"),
    ("sum", "SUM"),
    ("softmax", "SOFTMAX"),
    ("add", "ADD"),
    ("subtract", "SUB"),
    ("multiply", "MUL"),
    ("divide", "DIV"),
    ("maximum", "MAXIMUM"),
    ("minimum", "MINIMUM"),
    ("squareddifference", "SQUARED_DIFFERENCE"),
    ("clamp", "RELU RELU6 RELU_N1_TO_1 RELU_0_TO_1"),
    ("leakyrelu", "LEAKY_RELU"),
    ("prelu", "PRELU"),
    ("hardswish", "HARD_SWISH"),
    ("elu", "ELU"),
    ("gelu", "GELU"),
    ("sigmoid", "LOGISTIC"),
    ("tanh", "TANH"),
    ("abs", "ABS"),
    ("negate", "NEG"),
    ("square", "SQUARE"),
    ("squareroot", "SQRT"),
    ("reciprocalsquareroot", "RSQRT"),
    ("exp", "EXP"),
    ("floor", "FLOOR"),
    ("ceiling", "CEIL"),
    ("transpose", "TRANSPOSE"),
    ("constantpad", "PAD PADV2"),
    ("slice", "SLICE STRIDED_SLICE"),
    ("staticreshape", "RESHAPE SQUEEZE EXPAND_DIMS"),
    ("resizebilinear", "RESIZE_BILINEAR"),
    ("depthtospace", "DEPTH_TO_SPACE"),
    ("spacetodepth", "SPACE_TO_DEPTH"),
)
_XNNPACK_KINDS = {word: words for words, _ in _KINDS for word in words.split()}
_FILE_KINDS = {word: words for words, names in _KINDS for word in names.split()}


@dataclass(frozen=True)
class Listed:
    """An operator of the file."""

    name: str
    operands: Operands


def listed(
    operators: Sequence[Mapping[str, Any]], tensors: Sequence[Mapping[str, Any]]
) -> dict[int, Listed]:
    """By their numbers; those of which a size is not known are left out."""
    sizes = {int(tensor["index"]): _operand(tensor) for tensor in tensors}
    found = {}
    for one in operators:
        name = str(one["op_name"])
        inputs, outputs = (
            [sizes.get(int(number)) for number in one[side] if int(number) >= 0]
            for side in ("inputs", "outputs")
        )
        known = tuple(operand for operand in inputs if operand is not None)
        made = tuple(operand for operand in outputs if operand is not None)
        is_known = len(known) == len(inputs) and len(made) == len(outputs) and bool(made)
        if is_known and name not in _UNKNOWN:
            found[int(one["index"])] = Listed(name, Operands(_arranged(name, known), made))
    return found


def operands_of(
    recorded: Sequence[Recorded], known: Mapping[int, Listed], parts: Sequence[Sequence[int]]
) -> dict[int, Operands]:
    """By the place among what was recorded. ``parts`` are the numbers of the operators that XNNPACK
    took, one list for each time that it begins."""
    found: dict[int, Operands] = {}
    runs: list[list[int]] = []
    is_inside = False
    for place, one in enumerate(recorded):
        if one.kind == XNNPACK_OPERATOR:
            if not is_inside:
                runs.append([])
            runs[-1].append(place)
            is_inside = True
        elif one.kind == OPERATOR and one.name not in DELEGATES:
            is_inside = False
            at = known.get(one.number)
            if at is not None and at.name == one.name and one.graph == 0:
                found[place] = at.operands
    if len(runs) == len(parts):
        for run, part in zip(runs, parts, strict=True):
            found |= _paired(recorded, run, [known.get(number) for number in part])
    return found


def _paired(
    recorded: Sequence[Recorded], run: Sequence[int], part: Sequence[Listed | None]
) -> dict[int, Operands]:
    if None in part:  # it may be of any kind
        return {}
    found: dict[int, Operands] = {}
    for kind in {_XNNPACK_KINDS.get(plain_name(recorded[place].name)) for place in run} - {None}:
        places = [p for p in run if _XNNPACK_KINDS.get(plain_name(recorded[p].name)) == kind]
        own = [one for one in part if one is not None and _FILE_KINDS.get(one.name) == kind]
        if len(places) == len(own):
            found |= {place: one.operands for place, one in zip(places, own, strict=True)}
    return found


def _operand(tensor: Mapping[str, Any]) -> Operand:
    dtype = str(getattr(tensor["dtype"], "__name__", tensor["dtype"])).strip("_")
    return Operand(dtype, tuple(map(int, tensor["shape"])))


def _arranged(name: str, inputs: tuple[Operand, ...]) -> tuple[Operand, ...]:
    """As core/work.py expects them: what goes in first, filters with what comes out first."""
    if name in ("MEAN", "SUM"):
        return inputs[:1]  # the second one says along which sides
    if len(inputs) < 2:
        return inputs
    first, weights, *rest = inputs
    shape = weights.shape
    if name == "FULLY_CONNECTED" and shape and first.shape[-1:] != shape[-1:]:
        rows = first.size // max(1, shape[-1])  # it is flattened on the way
        return (Operand(first.dtype, (rows, shape[-1])), weights, *rest)
    if len(shape) < 4:
        return inputs
    if name == "DEPTHWISE_CONV_2D":  # [1, height, width, channels]
        return (first, Operand(weights.dtype, (shape[-1], 1, *shape[1:-1])), *rest)
    if name in _SIZES_FIRST:  # sizes, filters, and what goes in
        outs = shape[0] if name == "TRANSPOSE_CONV" else shape[-2]
        sides = shape[1:-1] if name == "TRANSPOSE_CONV" else shape[:-2]
        turned = Operand(weights.dtype, (shape[-1], outs, *sides))
        return (*rest[:1], turned, *rest[1:], first)
    if name == "CONV_3D":  # [depth, height, width, in, out]
        return (first, Operand(weights.dtype, (shape[-1], shape[-2], *shape[:-2])), *rest)
    return inputs
