"""LiteRT's own profiler: each operator of each call, in whole microseconds.

What XNNPACK runs has XNNPACK's names, and may stand for several operators of the file; what LiteRT
runs itself has the names of the file.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import Any

from modeldyno.core.errors import EngineFailed
from modeldyno.core.node_work import Operand, Operands, plain_name
from modeldyno.core.profiles import Trace
from modeldyno.core.sessions import CallContract, Target
from modeldyno.engines.litert_library import (
    DELEGATES,
    OPERATOR,
    XNNPACK_OPERATOR,
    CompiledModel,
    RecordedEvent,
)
from modeldyno.engines.node_times import Key, NodeEvent, RecordedCalls, Tally, known_operands
from modeldyno.engines.protocol import ProfiledDefaults, Tensors

_MOST_EVENT_NS = 5_000
_CUT_OFF_NS = 500  # lost on average by rounding down to microseconds
_MAX_CALLS_KEPT = 100_000
_GRAPH_RUN = "Invoke"  # LiteRT's name for the run of a graph
_POOLINGS = {"MAX_POOL_2D": "MaxPool2d", "AVERAGE_POOL_2D": "AveragePool2d"}


class LiteRtProfiled(ProfiledDefaults):
    """A session of the same model, loaded with the profiler."""

    def __init__(
        self,
        target: Target,
        uses_xnnpack: bool,
        session: Any,
        file_operators: Callable[[Tensors], dict[int, FileOperator]],
    ) -> None:
        """``file_operators``: those of the file, with the sizes of a call with the given inputs."""
        self._target = target
        self._uses_xnnpack = uses_xnnpack
        self._session = session
        self._file_operators = file_operators
        self._inputs: Tensors = {}
        self._model: CompiledModel | None = None
        self._shapes: tuple[tuple[int, ...], ...] = ()
        self._calls: RecordedCalls[list[RecordedEvent]] = RecordedCalls("LiteRT's profiler")

    def bind(self, inputs: Tensors, contract: CallContract) -> Callable[[], object]:
        self._inputs = inputs
        arrays = [inputs[port.name] for port in self._session.inputs]
        model = self._open_model(tuple(tuple(array.shape) for array in arrays))
        bound = _bind_model(model, arrays, contract)

        def call() -> object:
            if not self._calls.is_on:
                return bound()
            model.start()
            try:
                return bound()
            finally:
                model.stop()
                if len(self._calls) < _MAX_CALLS_KEPT:
                    self._calls.add(model.take())

        return call

    def recording(self) -> contextlib.AbstractContextManager[None]:
        return self._calls.recording()

    def trace(self, keep: Sequence[bool]) -> Trace:
        tally = Tally(_MOST_EVENT_NS, _CUT_OFF_NS)
        known, parts = self._operators_with_windows(), self._session.xnnpack_parts()
        name_of = cache(self._operator_name)
        for recorded in self._calls.select_counted(keep):
            operands = operands_of(recorded, known, parts)
            tally.add_call(node_events(recorded, name_of, operands))
        return tally.trace()

    def bare(self, contract: CallContract) -> Callable[[], object]:
        return self._session.bare(self._inputs, contract)  # type: ignore[no-any-return]

    def close(self) -> None:
        if self._model is not None:
            self._model.close()
            self._model = None

    def _open_model(self, shapes: tuple[tuple[int, ...], ...]) -> CompiledModel:
        if self._model is None or shapes != self._shapes:
            self.close()
            target = self._target
            self._model = CompiledModel(target.model, target.threads, self._uses_xnnpack, shapes)
            self._shapes = shapes
        return self._model

    def _operators_with_windows(self) -> dict[int, FileOperator]:
        operators = self._file_operators(self._inputs)
        for number, operator in operators.items():
            if self._model is not None and operator.name in _POOLINGS:
                with contextlib.suppress(EngineFailed):  # not every version reports windows
                    window = self._model.window(number, _POOLINGS[operator.name])
                    operands = replace(operator.operands, window=window)
                    operators[number] = replace(operator, operands=operands)
        return operators

    def _operator_name(self, number: int, graph: int) -> str:
        return self._model.operator_name(number, graph) if self._model is not None else ""


def _bind_model(
    model: CompiledModel, arrays: Sequence[Any], contract: CallContract
) -> Callable[[], object]:
    import numpy as np

    run = model.caller()

    def write() -> None:
        for number, array in enumerate(arrays):
            model.write(number, np.array(array) if contract == "e2e" else array)

    write()
    if contract == "hot":
        return run

    def call() -> object:
        write()
        run()
        return [model.read(number) for number in range(model.output_count)]

    return call


@dataclass
class _Span:
    """An operator, and those that ran inside it."""

    event: RecordedEvent
    key: Key
    operands: Operands | None
    inner: list[_Span] = field(default_factory=list)

    @cached_property
    def length_ns(self) -> int:
        """At least as long as everything inside: microseconds were rounded down."""
        return max(self.event.took_us * 1000, sum(span.length_ns + 1 for span in self.inner))

    def node_events(self, start_ns: int) -> Iterator[NodeEvent]:
        yield NodeEvent(start_ns, self.length_ns, self.key, operands=self.operands)
        for span in self.inner:
            yield from span.node_events(start_ns)
            start_ns += span.length_ns + 1


def node_events(
    recorded: Sequence[RecordedEvent],
    name_of: Callable[[int, int], str],
    operands: Mapping[int, Operands],
) -> Iterator[NodeEvent]:
    """Laid end to end, since XNNPACK reports how long its operators took, not when they began;
    what a branch or a loop runs is inside the operator that runs it. ``name_of`` gives the name of
    an operator by its number and graph; ``operands`` are by position in ``recorded``."""
    start_ns = 0
    for span in _collect_spans(recorded, name_of, operands):
        yield from span.node_events(start_ns)
        start_ns += span.length_ns + 1


def _collect_spans(
    recorded: Sequence[RecordedEvent],
    name_of: Callable[[int, int], str],
    operands: Mapping[int, Operands],
) -> list[_Span]:
    outermost: list[_Span] = []
    litert_spans: list[_Span] = []  # in order of their start; ended ones may be missing
    callers: dict[int, _Span | None] = {}  # the operator that runs a graph, by the graph's number
    counts: Counter[tuple[int, str]] = Counter()
    for place, event in enumerate(recorded):
        if event.kind != XNNPACK_OPERATOR and event.name == _GRAPH_RUN and event.start_us:
            callers[event.graph] = _find_enclosing(litert_spans, event) if event.graph else None
            # The next iteration of a loop runs the same operators again.
            counts = Counter({key: n for key, n in counts.items() if key[0] != event.graph})
        caller = callers.get(event.graph)
        if event.kind == XNNPACK_OPERATOR:
            # Each of its parts of the model counts from 0.
            prefix = f"{caller.key[0]}/" if caller else ""
            name = f"{prefix}{event.name} #{event.number}"
            counts[event.graph, name] += 1
            count = counts[event.graph, name]
            key: Key = (f"{name} ({count})" if count > 1 else name, event.name, "XNNPACK")
        elif event.kind == OPERATOR and event.name not in DELEGATES:
            name = name_of(event.number, event.graph) or f"{event.name} #{event.number}"
            key = (name, event.name, "LiteRT")
        else:
            continue
        span = _Span(event, key, operands.get(place))
        (caller.inner if caller else outermost).append(span)
        if event.kind == OPERATOR:
            litert_spans.append(span)
    return outermost


def _find_enclosing(spans: list[_Span], graph: RecordedEvent) -> _Span | None:
    """The last operator that had not ended when a graph began; ended ones are dropped."""
    while spans and spans[-1].event.start_us + spans[-1].event.took_us <= graph.start_us:
        spans.pop()
    return spans[-1] if spans else None


# ---------------------------------------------------------------- operands

# XNNPACK names and numbers its operators in its own way. But it runs one part of the model after
# the other, and within a part it keeps the order of the file. So if it has as many operators of a
# kind as that part of the file, they are paired in order. If not, it merged or split some, and
# which is unknown.

_SIZES_FIRST = ("TRANSPOSE_CONV", "CONV_3D_TRANSPOSE")
# Their weights are listed in an order that core/work.py does not support.
_UNSUPPORTED = ("LSTM", "RNN")
# Operators that XNNPACK calls as the file does, without the underscores.
_SAME_NAMES = """
    MEAN SUM SOFTMAX ADD MAXIMUM MINIMUM SQUARED_DIFFERENCE LEAKY_RELU PRELU HARD_SWISH ELU GELU
    TANH ABS SQUARE EXP FLOOR TRANSPOSE RESIZE_BILINEAR DEPTH_TO_SPACE SPACE_TO_DEPTH
""".split()  # noqa: SIM905 - quotes and commas would add nothing
# XNNPACK's plain names, and those of the file. It turns many convolutions into matrix products.
_KINDS = (
    *((name.lower().replace("_", ""), name) for name in _SAME_NAMES),
    ("convolution fullyconnected", "CONV_2D DEPTHWISE_CONV_2D FULLY_CONNECTED"),
    ("deconvolution", "TRANSPOSE_CONV"),
    ("batchmatrixmultiply", "BATCH_MATMUL"),
    ("maxpooling", "MAX_POOL_2D"),
    ("averagepooling", "AVERAGE_POOL_2D"),
    ("subtract", "SUB"),
    ("multiply", "MUL"),
    ("divide", "DIV"),
    ("clamp", "RELU RELU6 RELU_N1_TO_1 RELU_0_TO_1"),
    ("sigmoid", "LOGISTIC"),
    ("negate", "NEG"),
    ("squareroot", "SQRT"),
    ("reciprocalsquareroot", "RSQRT"),
    ("ceiling", "CEIL"),
    ("constantpad", "PAD PADV2"),
    ("slice", "SLICE STRIDED_SLICE"),
    ("staticreshape", "RESHAPE SQUEEZE EXPAND_DIMS"),
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
    sizes = {int(tensor["index"]): _make_operand(tensor) for tensor in tensors}
    by_number = {}
    for details in operators:
        name = str(details["op_name"])
        inputs, outputs = (
            [sizes.get(int(number)) for number in details[side] if int(number) >= 0]
            for side in ("inputs", "outputs")
        )
        known = known_operands(inputs, outputs)
        if known and name not in _UNSUPPORTED:
            operands = Operands(_arrange_inputs(name, known[0]), known[1])
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


def _make_operand(tensor: Mapping[str, Any]) -> Operand:
    dtype = str(getattr(tensor["dtype"], "__name__", tensor["dtype"])).strip("_")
    return Operand(dtype, tuple(map(int, tensor["shape"])))


def _arrange_inputs(name: str, inputs: tuple[Operand, ...]) -> tuple[Operand, ...]:
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
