"""Operands of LiteRT's operators, as its interpreter lists them after a call.

XNNPACK names and numbers its operators in its own way. But it runs one part of the model after the
other, and within a part it keeps the order of the file. So if it has as many operators of a kind as
that part of the file, they are paired in order. If not, it merged or split some, and which is
unknown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from modeldyno.core.work import Operand, Operands, plain_name
from modeldyno.engines.litert_library import DELEGATES, OPERATOR, XNNPACK_OPERATOR, RecordedEvent

_SIZES_FIRST = ("TRANSPOSE_CONV", "CONV_3D_TRANSPOSE")
# Their weights are listed in an order that core/work.py does not support.
_UNSUPPORTED = ("LSTM", "RNN")
# XNNPACK's plain names, and those of the file. It turns many convolutions into matrix products.
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
class FileOperator:
    """An operator of the file."""

    name: str
    operands: Operands


def file_operators(
    operators: Sequence[Mapping[str, Any]], tensors: Sequence[Mapping[str, Any]]
) -> dict[int, FileOperator]:
    """By number; operators with an unknown size are left out."""
    sizes = {int(tensor["index"]): _operand(tensor) for tensor in tensors}
    by_number = {}
    for details in operators:
        name = str(details["op_name"])
        inputs, outputs = (
            [sizes.get(int(number)) for number in details[side] if int(number) >= 0]
            for side in ("inputs", "outputs")
        )
        known_inputs = tuple(operand for operand in inputs if operand is not None)
        known_outputs = tuple(operand for operand in outputs if operand is not None)
        is_known = len(known_inputs) == len(inputs) and len(known_outputs) == len(outputs)
        if is_known and known_outputs and name not in _UNSUPPORTED:
            operands = Operands(_arranged(name, known_inputs), known_outputs)
            by_number[int(details["index"])] = FileOperator(name, operands)
    return by_number


def operands_of(
    recorded: Sequence[RecordedEvent],
    known: Mapping[int, FileOperator],
    parts: Sequence[Sequence[int]],
) -> dict[int, Operands]:
    """By position in ``recorded``. ``parts`` are the numbers of the operators that XNNPACK took, a
    list for each part of the model that it runs."""
    operands: dict[int, Operands] = {}
    runs: list[list[int]] = []
    is_in_xnnpack = False
    for place, event in enumerate(recorded):
        if event.kind == XNNPACK_OPERATOR:
            if not is_in_xnnpack:
                runs.append([])
            runs[-1].append(place)
            is_in_xnnpack = True
        elif event.kind == OPERATOR and event.name not in DELEGATES:
            is_in_xnnpack = False
            operator = known.get(event.number)
            if operator is not None and operator.name == event.name and event.graph == 0:
                operands[place] = operator.operands
    if len(runs) == len(parts):
        for run, part in zip(runs, parts, strict=True):
            operands |= _pair_by_kind(recorded, run, [known.get(number) for number in part])
    return operands


def _pair_by_kind(
    recorded: Sequence[RecordedEvent], run: Sequence[int], part: Sequence[FileOperator | None]
) -> dict[int, Operands]:
    if None in part:  # an unknown operator may be of any kind
        return {}
    operands: dict[int, Operands] = {}
    for kind in {_XNNPACK_KINDS.get(plain_name(recorded[place].name)) for place in run} - {None}:
        places = [p for p in run if _XNNPACK_KINDS.get(plain_name(recorded[p].name)) == kind]
        of_kind = [op for op in part if op is not None and _FILE_KINDS.get(op.name) == kind]
        if len(places) == len(of_kind):
            operands |= {place: op.operands for place, op in zip(places, of_kind, strict=True)}
    return operands


def _operand(tensor: Mapping[str, Any]) -> Operand:
    dtype = str(getattr(tensor["dtype"], "__name__", tensor["dtype"])).strip("_")
    return Operand(dtype, tuple(map(int, tensor["shape"])))


def _arranged(name: str, inputs: tuple[Operand, ...]) -> tuple[Operand, ...]:
    """As core/work.py expects them: data first, then filters with the output channels first."""
    if name in ("MEAN", "SUM"):
        return inputs[:1]  # the second one lists the axes
    if len(inputs) < 2:
        return inputs
    first, weights, *rest = inputs
    shape = weights.shape
    if name == "FULLY_CONNECTED" and shape and first.shape[-1:] != shape[-1:]:
        rows = first.size // max(1, shape[-1])  # LiteRT flattens it
        return (Operand(first.dtype, (rows, shape[-1])), weights, *rest)
    if len(shape) < 4:
        return inputs
    if name == "DEPTHWISE_CONV_2D":  # [1, height, width, channels]
        return (first, Operand(weights.dtype, (shape[-1], 1, *shape[1:-1])), *rest)
    if name in _SIZES_FIRST:  # output sizes, filters, data
        outs = shape[0] if name == "TRANSPOSE_CONV" else shape[-2]
        sides = shape[1:-1] if name == "TRANSPOSE_CONV" else shape[:-2]
        turned = Operand(weights.dtype, (shape[-1], outs, *sides))
        return (*rest[:1], turned, *rest[1:], first)
    if name == "CONV_3D":  # [depth, height, width, in, out]
        return (first, Operand(weights.dtype, (shape[-1], shape[-2], *shape[:-2])), *rest)
    return inputs
