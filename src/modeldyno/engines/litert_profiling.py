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
from modeldyno.core.sessions import CallContract, SessionFacts, Target
from modeldyno.core.traces import Trace
from modeldyno.core.work import Operands
from modeldyno.engines.litert_library import (
    DELEGATES,
    OPERATOR,
    XNNPACK_OPERATOR,
    CompiledModel,
    RecordedEvent,
)
from modeldyno.engines.litert_operands import FileOperator, operands_of
from modeldyno.engines.protocol import Tensors
from modeldyno.engines.recorded_calls import RecordedCalls
from modeldyno.engines.tallies import Key, NodeEvent, Tally

_MOST_EVENT_NS = 5_000
_CUT_OFF_NS = 500  # lost on average by rounding down to microseconds
_MAX_CALLS_KEPT = 100_000
_GRAPH_RUN = "Invoke"  # LiteRT's name for the run of a graph
_POOLINGS = {"MAX_POOL_2D": "MaxPool2d", "AVERAGE_POOL_2D": "AveragePool2d"}


class LiteRtProfiled:
    """A session of the same model, loaded with the profiler."""

    def __init__(
        self,
        target: Target,
        takes_xnnpack: bool,
        session: Any,
        file_operators: Callable[[Tensors], dict[int, FileOperator]],
    ) -> None:
        """``file_operators``: those of the file, with the sizes of a call with the given inputs."""
        self._target = target
        self._takes_xnnpack = takes_xnnpack
        self._session = session
        self._file_operators = file_operators
        self._inputs: Tensors = {}
        self._model: CompiledModel | None = None
        self._shapes: tuple[tuple[int, ...], ...] = ()
        self._calls: RecordedCalls[list[RecordedEvent]] = RecordedCalls("LiteRT's profiler")

    @property
    def facts(self) -> SessionFacts:
        facts: SessionFacts = self._session.facts
        return facts

    def bind(self, inputs: Tensors, contract: CallContract) -> Callable[[], object]:
        self._inputs = inputs
        arrays = [inputs[port.name] for port in self._session.inputs]
        model = self._open_model(tuple(tuple(array.shape) for array in arrays))
        bound = _bind(model, arrays, contract)

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
        for recorded in self._calls.select(keep):
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
            self._model = CompiledModel(target.model, target.threads, self._takes_xnnpack, shapes)
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


def _bind(
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
    for span in _spans(recorded, name_of, operands):
        yield from span.node_events(start_ns)
        start_ns += span.length_ns + 1


def _spans(
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
            callers[event.graph] = _enclosing(litert_spans, event) if event.graph else None
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


def _enclosing(spans: list[_Span], graph: RecordedEvent) -> _Span | None:
    """The last operator that had not ended when a graph began; ended ones are dropped."""
    while spans and spans[-1].event.start_us + spans[-1].event.took_us <= graph.start_us:
        spans.pop()
    return spans[-1] if spans else None
