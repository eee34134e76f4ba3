"""Shapes of what PyTorch's operators took, as its profiler tells them, and of what they gave, which
it does not: that follows from the inputs, where the operator is one that we know."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from modeldyno.core.work import (
    Operand,
    Operands,
    is_attention,
    is_elementwise,
    is_view,
    plain_name,
    work_of,
)

Shape = tuple[int, ...]
_WITH_BIAS_FIRST = ("addmm", "baddbmm")
_PRODUCTS = ("mm", "bmm", "addmm", "baddbmm")
_LINEAR = ("linear", "mkldnn_linear")
_REDUCTIONS = (
    *("mean", "sum", "amax", "amin", "adaptive_avg_pool2d"),
    *("prod", "any", "all", "argmax", "argmin", "topk"),
)
_BROADCASTS = ("masked_fill",)
_COPIES = ("copy", "clone", "contiguous", "to", "to_copy", "fill", "zero", "triu", "tril")


def operands_of(events: Sequence[Any]) -> list[Operands | None]:
    """Of operators in the order in which they began. One that leaves its arithmetic to others
    inside it has none of its own: nothing counts twice."""
    found = [_operands(event) for event in events]
    flops = [work_of(str(e.name()), o).flop for e, o in zip(events, found, strict=True)]
    around: list[int] = []  # places of operators that are still at work
    for place, event in enumerate(events):
        while around and _end(events[around[-1]]) <= event.start_ns():
            around.pop()
        if flops[place]:
            for outer in around:
                found[outer] = None
        around.append(place)
    return found


def _end(event: Any) -> int:
    return int(event.start_ns() + event.duration_ns())


def _operands(event: Any) -> Operands | None:
    name = plain_name(str(event.name()))
    inputs = [
        Operand(dtype, tuple(shape))
        for dtype, shape in zip(event.dtypes(), event.shapes(), strict=False)
        if dtype
        and dtype not in ("Scalar", "ScalarList")
        and all(isinstance(n, int) for n in shape)
    ]
    if not inputs:
        return None
    said = event.concrete_inputs() if hasattr(event, "concrete_inputs") else []
    if name in _WITH_BIAS_FIRST:
        inputs = [*inputs[1:], inputs[0]]
    shape, window = _outcome(str(event.name()), [one.shape for one in inputs], said)
    if shape is None:
        return None
    return Operands(tuple(inputs), (Operand(inputs[0].dtype, shape),), window)


def _outcome(
    op_type: str, shapes: Sequence[Shape], said: Sequence[Any]
) -> tuple[Shape | None, Shape]:
    """What comes out, None where the operator is not one of these; and the window of a pooling."""
    name, first = plain_name(op_type), shapes[0]
    if name in _PRODUCTS and len(shapes) > 1:
        return (*first[:-1], shapes[1][-1]), ()
    if name in _LINEAR and len(shapes) > 1:
        return (*first[:-1], shapes[1][0]), ()
    if "conv" in name:
        return _convolved(name, shapes, said), ()
    if name.startswith(("max_pool2d", "avg_pool2d")):
        return _pooled(first, said)
    if name in _REDUCTIONS:
        return first[:2], ()  # what comes out is small, whatever it is
    if name in ("embedding",) and len(shapes) > 1:
        return (*shapes[1], first[-1]), ()
    if is_attention(op_type) and len(shapes) > 2:
        return (*first[:-1], *shapes[2][-1:]), ()
    if name in _COPIES or is_view(op_type):  # a view moves nothing, whatever its shape is
        return first, ()
    if name in _BROADCASTS or is_elementwise(op_type):
        # Weights of a norm have sizes of their own.
        return (first if "norm" in name else _broadcast(shapes)), ()
    return None, ()


def _convolved(name: str, shapes: Sequence[Shape], said: Sequence[Any]) -> Shape | None:
    """Its settings are lists of as many numbers as there are sides, in an order of their own."""
    if len(shapes) < 2 or len(shapes[1]) < 3 or "transpose" in name:
        return None
    sides = len(shapes[1]) - 2
    lists = [one for one in said if isinstance(one, list) and len(one) == sides]
    order = _ORDERS.get(name)
    if order is None or len(lists) < len(order):
        return None
    told = dict(zip(order, lists, strict=False))
    ones = [1] * sides
    out = [
        (size + 2 * pad - dilation * (kernel - 1) - 1) // max(1, stride) + 1
        for size, kernel, stride, pad, dilation in zip(
            shapes[0][-sides:],
            shapes[1][-sides:],
            told["stride"],
            told["padding"],
            told.get("dilation", ones),
            strict=True,
        )
    ]
    return (shapes[0][0], shapes[1][0], *out) if min(out) > 0 else None


_ORDERS = {
    **dict.fromkeys(
        ("convolution", "conv1d", "conv2d", "conv3d"), ("stride", "padding", "dilation")
    ),
    "mkldnn_convolution": ("padding", "stride", "dilation"),
    "slow_conv2d_forward": ("kernel", "stride", "padding"),
    "conv_depthwise2d": ("kernel", "stride", "padding", "dilation"),
    "slow_conv_dilated2d": ("kernel", "stride", "padding", "dilation"),
}


def _pooled(shape: Shape, said: Sequence[Any]) -> tuple[Shape | None, Shape]:
    lists = [one for one in said if isinstance(one, list)]
    if not lists or len(shape) != 4 or len(lists[0]) != 2:
        return None, ()
    window = tuple(lists[0])
    stride = tuple(lists[1]) if len(lists) > 1 and len(lists[1]) == 2 else window
    padding = lists[2] if len(lists) > 2 and len(lists[2]) == 2 else [0, 0]
    sides = zip(shape[2:], window, stride, padding, strict=True)
    out = tuple((size + 2 * pad - kernel) // max(1, step) + 1 for size, kernel, step, pad in sides)
    return ((*shape[:2], *out), window) if min(out) > 0 else (None, ())


def _broadcast(shapes: Sequence[Shape]) -> Shape:
    """Of what is computed element by element; where sizes do not fit, the shape of the first."""
    rank = max(len(shape) for shape in shapes)
    padded = [(1,) * (rank - len(shape)) + tuple(shape) for shape in shapes]
    out = tuple(max(sizes) for sizes in zip(*padded, strict=True))
    fits = all(
        size in (1, whole) for shape in padded for size, whole in zip(shape, out, strict=True)
    )
    return out if fits else tuple(shapes[0])
