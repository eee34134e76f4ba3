"""Operands of PyTorch's operators. The profiler reports the shapes of inputs only; those of outputs
are derived from them, for the operators listed here."""

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
    """``events`` are operators in the order of their start. An operator that leaves its arithmetic
    to others inside it gets None, so that nothing counts twice."""
    operands = [_operands(event) for event in events]
    flops = [work_of(str(e.name()), o).flop for e, o in zip(events, operands, strict=True)]
    running: list[int] = []  # places of operators that have not ended
    for place, event in enumerate(events):
        while running and _end(events[running[-1]]) <= event.start_ns():
            running.pop()
        if flops[place]:
            for outer in running:
                operands[outer] = None
        running.append(place)
    return operands


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
    arguments = event.concrete_inputs() if hasattr(event, "concrete_inputs") else []
    if name in _WITH_BIAS_FIRST:
        inputs = [*inputs[1:], inputs[0]]
    shapes = [operand.shape for operand in inputs]
    shape, window = _output_shape(str(event.name()), shapes, arguments)
    if shape is None:
        return None
    return Operands(tuple(inputs), (Operand(inputs[0].dtype, shape),), window)


def _output_shape(
    op_type: str, shapes: Sequence[Shape], arguments: Sequence[Any]
) -> tuple[Shape | None, Shape]:
    """The output's shape, None for an operator not listed here; and the window of a pooling."""
    name, first = plain_name(op_type), shapes[0]
    if name in _PRODUCTS and len(shapes) > 1:
        return (*first[:-1], shapes[1][-1]), ()
    if name in _LINEAR and len(shapes) > 1:
        return (*first[:-1], shapes[1][0]), ()
    if "conv" in name:
        return _convolved(name, shapes, arguments), ()
    if name.startswith(("max_pool2d", "avg_pool2d")):
        return _pooled(first, arguments)
    if name in _REDUCTIONS:
        return first[:2], ()  # an approximation: the output is small in any case
    if name in ("embedding",) and len(shapes) > 1:
        return (*shapes[1], first[-1]), ()
    if is_attention(op_type) and len(shapes) > 2:
        return (*first[:-1], *shapes[2][-1:]), ()
    if name in _COPIES or is_view(op_type):  # a view moves nothing, whatever its shape is
        return first, ()
    if name in _BROADCASTS or is_elementwise(op_type):
        # The weights of a norm do not broadcast.
        return (first if "norm" in name else _broadcast(shapes)), ()
    return None, ()


def _convolved(name: str, shapes: Sequence[Shape], arguments: Sequence[Any]) -> Shape | None:
    """Stride, padding and so on are lists of a number per spatial axis, in varying order."""
    if len(shapes) < 2 or len(shapes[1]) < 3 or "transpose" in name:
        return None
    axes = len(shapes[1]) - 2
    lists = [argument for argument in arguments if isinstance(argument, list)]
    lists = [numbers for numbers in lists if len(numbers) == axes]
    order = _ARGUMENT_ORDERS.get(name)
    if order is None or len(lists) < len(order):
        return None
    settings = dict(zip(order, lists, strict=False))
    out = [
        (size + 2 * pad - dilation * (kernel - 1) - 1) // max(1, stride) + 1
        for size, kernel, stride, pad, dilation in zip(
            shapes[0][-axes:],
            shapes[1][-axes:],
            settings["stride"],
            settings["padding"],
            settings.get("dilation", [1] * axes),
            strict=True,
        )
    ]
    return (shapes[0][0], shapes[1][0], *out) if min(out) > 0 else None


_ARGUMENT_ORDERS = {
    **dict.fromkeys(
        ("convolution", "conv1d", "conv2d", "conv3d"), ("stride", "padding", "dilation")
    ),
    "mkldnn_convolution": ("padding", "stride", "dilation"),
    "slow_conv2d_forward": ("kernel", "stride", "padding"),
    "conv_depthwise2d": ("kernel", "stride", "padding", "dilation"),
    "slow_conv_dilated2d": ("kernel", "stride", "padding", "dilation"),
}


def _pooled(shape: Shape, arguments: Sequence[Any]) -> tuple[Shape | None, Shape]:
    lists = [argument for argument in arguments if isinstance(argument, list)]
    if not lists or len(shape) != 4 or len(lists[0]) != 2:
        return None, ()
    window = tuple(lists[0])
    stride = tuple(lists[1]) if len(lists) > 1 and len(lists[1]) == 2 else window
    padding = lists[2] if len(lists) > 2 and len(lists[2]) == 2 else [0, 0]
    sides = zip(shape[2:], window, stride, padding, strict=True)
    out = tuple((size + 2 * pad - kernel) // max(1, step) + 1 for size, kernel, step, pad in sides)
    return ((*shape[:2], *out), window) if min(out) > 0 else (None, ())


def _broadcast(shapes: Sequence[Shape]) -> Shape:
    """The output's shape of an elementwise operator; the first shape if they do not broadcast."""
    rank = max(len(shape) for shape in shapes)
    padded = [(1,) * (rank - len(shape)) + tuple(shape) for shape in shapes]
    out = tuple(max(sizes) for sizes in zip(*padded, strict=True))
    fits = all(
        size in (1, whole) for shape in padded for size, whole in zip(shape, out, strict=True)
    )
    return out if fits else tuple(shapes[0])
