"""PyTorch's own profiler: what each operator took, without the operators inside it.

Operators have no names of their own; they are named by kind and position: ``aten::addmm #3`` is the
third of a call. The gap before an operator counts as its own: Python needs time between operators,
which a model with fewer of them would not spend.
"""

from __future__ import annotations

import contextlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from modeldyno.core.node_work import (
    Operand,
    Operands,
    is_attention,
    is_elementwise,
    is_view,
    plain_name,
    work_of,
)
from modeldyno.core.profiles import Trace
from modeldyno.core.sessions import CallContract
from modeldyno.engines.node_times import NodeEvent, Tally, counted_calls
from modeldyno.engines.protocol import ProfiledDefaults, Tensors

_CALL = "modeldyno call"
_MOST_EVENT_NS = 3_000
_OPERATOR = "cpu_op"
_RUNTIME = ("cuda", "cu", "hip", "[memory]")  # prefixes of calls of a device's library


class TorchProfiled(ProfiledDefaults):
    def __init__(self, session: Any, device: str, *, is_script: bool) -> None:
        self._session = session
        self._device = device
        self._is_script = is_script
        self._events: list[Any] = []
        self._call: Callable[[], object] | None = None

    def bind(self, inputs: Tensors, contract: CallContract) -> Callable[[], object]:
        """Each call is marked, so that the trace shows where it began and ended."""
        from torch.profiler import record_function

        call = self._call = self._session.bind(inputs, contract)

        def marked() -> object:
            with record_function(_CALL):
                return call()

        return marked

    @contextlib.contextmanager
    def recording(self) -> Iterator[None]:
        from torch.profiler import ProfilerActivity, profile

        activities = [ProfilerActivity.CPU]
        if self._device == "cuda":
            activities.append(ProfilerActivity.CUDA)
        with profile(activities=activities) as profiler:
            yield
        # The raw events: building the profiler's own tables takes several times as long as all
        # these calls.
        self._events += profiler.profiler.kineto_results.events()

    def trace(self, keep: Sequence[bool]) -> Trace:
        trace = read_events(self._events, keep, self._device)
        operands = self._record_operands()
        nodes = (
            replace(node, operands=operands.get((node.node, node.op_type))) for node in trace.nodes
        )
        return replace(trace, nodes=tuple(nodes))

    def _record_operands(self) -> dict[tuple[str, str], Operands | None]:
        """From an additional call, since recording shapes takes time. Its operators have the same
        names as in the calls before."""
        from torch.profiler import ProfilerActivity, profile

        if self._call is None:
            return {}
        with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as profiler:
            self._call()
        events = profiler.profiler.kineto_results.events()
        operators = sorted((event for event in events if _is_operator(event)), key=_start_ns)
        events = _node_events(operators, {}, "cpu")
        return {
            event.key[:2]: operands
            for event, operands in zip(events, operands_of(operators), strict=True)
        }

    def bare(self, contract: CallContract) -> Callable[[], object] | None:
        """A module that returns its input, of the same kind as this one."""
        if self._device != "cpu":
            return None
        import torch

        identity: Any = torch.nn.Identity().eval()
        if self._is_script:
            identity = torch.jit.script(identity)
        zero = torch.zeros(1)
        return lambda: identity(zero)


def read_events(events: Sequence[Any], keep: Sequence[bool], device: str) -> Trace:
    calls = sorted(
        (event.start_ns(), event.start_ns() + event.duration_ns())
        for event in events
        if event.name() == _CALL and _is_on_cpu(event)
    )
    counted = counted_calls(len(calls), keep, "PyTorch's profiler")
    operators = sorted((event for event in events if _is_operator(event)), key=_start_ns)
    on_device = _device_times(events, operators) if device != "cpu" else {}
    tally, place = Tally(_MOST_EVENT_NS, counts_gaps=device == "cpu"), 0
    for number, (begin, end) in enumerate(calls):
        inside = []
        while place < len(operators) and operators[place].start_ns() < end:
            if operators[place].start_ns() >= begin:
                inside.append(operators[place])
            place += 1
        if number in counted:
            tally.add_call(_node_events(inside, on_device, device))
    return tally.trace()


def _is_on_cpu(event: Any) -> bool:
    return str(event.device_type()).endswith(".CPU")


def _is_operator(event: Any) -> bool:
    """PyTorch 2.13 reports the kind of an event; before, it is guessed from the name."""
    if hasattr(event, "activity_type"):
        return bool(event.activity_type() == _OPERATOR)
    name = event.name()
    return _is_on_cpu(event) and name != _CALL and not name.startswith(_RUNTIME)


def _start_ns(event: Any) -> int:
    return int(event.start_ns())


def _node_events(
    operators: list[Any], on_device: dict[int, int], device: str
) -> Iterator[NodeEvent]:
    counts: Counter[str] = Counter()
    for operator in operators:
        name = str(operator.name())
        counts[name] += 1
        yield NodeEvent(
            start_ns=operator.start_ns(),
            duration_ns=operator.duration_ns(),
            key=(f"{name} #{counts[name]}", name, device),
            device_ns=on_device.get(operator.correlation_id(), 0) if device != "cpu" else None,
        )


def _device_times(events: Sequence[Any], operators: Sequence[Any]) -> dict[int, int]:
    """Nanoseconds on the device, by the correlation id of the operator that launched the work."""
    known = {operator.correlation_id() for operator in operators}
    times_ns: dict[int, int] = defaultdict(int)
    for event in events:
        if _is_on_cpu(event) or event.name() == _CALL:  # the call's mark is on the device, too
            continue
        operator_id = event.linked_correlation_id()
        if operator_id in known:
            times_ns[operator_id] += event.duration_ns()
    return times_ns


# ---------------------------------------------------------------- operands

# The profiler reports the shapes of inputs only; those of outputs are derived from them, for the
# operators listed here.

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
    operands = [_read_operands(event) for event in events]
    flops = [work_of(str(e.name()), o).flop for e, o in zip(events, operands, strict=True)]
    running: list[int] = []  # places of operators that have not ended
    for place, event in enumerate(events):
        while running and _end_ns(events[running[-1]]) <= event.start_ns():
            running.pop()
        if flops[place]:
            for outer in running:
                operands[outer] = None
        running.append(place)
    return operands


def _end_ns(event: Any) -> int:
    return int(event.start_ns() + event.duration_ns())


def _read_operands(event: Any) -> Operands | None:
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
        return _convolution_output_shape(name, shapes, arguments), ()
    if name.startswith(("max_pool2d", "avg_pool2d")):
        return _pooling_shapes(first, arguments)
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
        return (first if "norm" in name else _broadcast_shape(shapes)), ()
    return None, ()


def _convolution_output_shape(
    name: str, shapes: Sequence[Shape], arguments: Sequence[Any]
) -> Shape | None:
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


def _pooling_shapes(shape: Shape, arguments: Sequence[Any]) -> tuple[Shape | None, Shape]:
    lists = [argument for argument in arguments if isinstance(argument, list)]
    if not lists or len(shape) != 4 or len(lists[0]) != 2:
        return None, ()
    window = tuple(lists[0])
    stride = tuple(lists[1]) if len(lists) > 1 and len(lists[1]) == 2 else window
    padding = lists[2] if len(lists) > 2 and len(lists[2]) == 2 else [0, 0]
    sides = zip(shape[2:], window, stride, padding, strict=True)
    out = tuple((size + 2 * pad - kernel) // max(1, step) + 1 for size, kernel, step, pad in sides)
    return ((*shape[:2], *out), window) if min(out) > 0 else (None, ())


def _broadcast_shape(shapes: Sequence[Shape]) -> Shape:
    """The output's shape of an elementwise operator; the first shape if they do not broadcast."""
    rank = max(len(shape) for shape in shapes)
    padded = [(1,) * (rank - len(shape)) + tuple(shape) for shape in shapes]
    out = tuple(max(sizes) for sizes in zip(*padded, strict=True))
    fits = all(
        size in (1, whole) for shape in padded for size, whole in zip(shape, out, strict=True)
    )
    return out if fits else tuple(shapes[0])
