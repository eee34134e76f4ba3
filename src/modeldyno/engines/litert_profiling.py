"""LiteRT's own profiler: each operator of each call, in whole microseconds.

What XNNPACK took it tells by XNNPACK's names, of which one may stand for several operators of the
file; what LiteRT runs itself, by the file's.
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
    Recorded,
)
from modeldyno.engines.litert_operands import Listed, operands_of
from modeldyno.engines.protocol import Tensors
from modeldyno.engines.recorded_calls import RecordedCalls
from modeldyno.engines.tallies import Event, Key, Tally

_MOST_EVENT_NS = 5_000
_CUT_OFF_NS = 500  # of whole microseconds, in the mean
_MOST_CALLS_KEPT = 100_000
_BEGINS = "Invoke"  # what LiteRT calls the run of a graph
_POOLINGS = {"MAX_POOL_2D": "MaxPool2d", "AVERAGE_POOL_2D": "AveragePool2d"}


class LiteRtProfiled:
    """A session of the same model, loaded with the profiler."""

    def __init__(
        self,
        target: Target,
        takes_xnnpack: bool,
        session: Any,
        listed: Callable[[Tensors], dict[int, Listed]],
    ) -> None:
        """``listed``: the operators of the file, as a call with such inputs has them."""
        self._target = target
        self._takes_xnnpack = takes_xnnpack
        self._session = session
        self._listed = listed
        self._inputs: Tensors = {}
        self._model: CompiledModel | None = None
        self._shapes: tuple[tuple[int, ...], ...] = ()
        self._calls: RecordedCalls[list[Recorded]] = RecordedCalls("LiteRT's profiler")

    @property
    def facts(self) -> SessionFacts:
        facts: SessionFacts = self._session.facts
        return facts

    def bind(self, inputs: Tensors, contract: CallContract) -> Callable[[], object]:
        self._inputs = inputs
        values = [inputs[port.name] for port in self._session.inputs]
        model = self._opened(tuple(tuple(value.shape) for value in values))
        bound = _bound(model, values, contract)

        def call() -> object:
            if not self._calls.is_on:
                return bound()
            model.start()
            try:
                return bound()
            finally:
                model.stop()
                if len(self._calls) < _MOST_CALLS_KEPT:
                    self._calls.add(model.take())

        return call

    def recording(self) -> contextlib.AbstractContextManager[None]:
        return self._calls.recording()

    def trace(self, keep: Sequence[bool]) -> Trace:
        tally = Tally(_MOST_EVENT_NS, _CUT_OFF_NS)
        known, parts = self._known(), self._session.parts()
        name_of = cache(self._name)
        for recorded in self._calls.kept(keep):
            operands = operands_of(recorded, known, parts)
            tally.add_call(events_of(recorded, name_of, operands))
        return tally.trace()

    def bare(self, contract: CallContract) -> Callable[[], object]:
        return self._session.bare(self._inputs, contract)  # type: ignore[no-any-return]

    def close(self) -> None:
        if self._model is not None:
            self._model.close()
            self._model = None

    def _opened(self, shapes: tuple[tuple[int, ...], ...]) -> CompiledModel:
        if self._model is None or shapes != self._shapes:
            self.close()
            target = self._target
            self._model = CompiledModel(target.model, target.threads, self._takes_xnnpack, shapes)
            self._shapes = shapes
        return self._model

    def _known(self) -> dict[int, Listed]:
        known = self._listed(self._inputs)
        for number, one in known.items():
            if self._model is not None and one.name in _POOLINGS:
                with contextlib.suppress(EngineFailed):  # the library may not tell
                    window = self._model.window(number, _POOLINGS[one.name])
                    known[number] = replace(one, operands=replace(one.operands, window=window))
        return known

    def _name(self, number: int, graph: int) -> str:
        return self._model.operator_name(number, graph) if self._model is not None else ""


def _bound(
    model: CompiledModel, values: Sequence[Any], contract: CallContract
) -> Callable[[], object]:
    import numpy as np

    run = model.caller()

    def write() -> None:
        for number, value in enumerate(values):
            model.write(number, np.array(value) if contract == "e2e" else value)

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
    """An operator, and those that ran inside of it."""

    one: Recorded
    key: Key
    operands: Operands | None
    inner: list[_Span] = field(default_factory=list)

    @cached_property
    def length_ns(self) -> int:
        """With room for all that is inside: microseconds are cut off."""
        return max(self.one.took_us * 1000, sum(one.length_ns + 1 for one in self.inner))

    def events(self, start_ns: int) -> Iterator[Event]:
        yield Event(start_ns, self.length_ns, self.key, operands=self.operands)
        for one in self.inner:
            yield from one.events(start_ns)
            start_ns += one.length_ns + 1


def events_of(
    recorded: Sequence[Recorded],
    name_of: Callable[[int, int], str],
    operands: Mapping[int, Operands],
) -> Iterator[Event]:
    """One after the other, since XNNPACK tells how long its operators took, not when they began;
    what a branch or a loop runs, inside of the operator that runs it. ``name_of`` an operator, by
    its number and its graph. ``operands`` are by the place among those that were recorded."""
    at_ns = 0
    for span in _spans(recorded, name_of, operands):
        yield from span.events(at_ns)
        at_ns += span.length_ns + 1


def _spans(
    recorded: Sequence[Recorded],
    name_of: Callable[[int, int], str],
    operands: Mapping[int, Operands],
) -> list[_Span]:
    outermost: list[_Span] = []
    own: list[_Span] = []  # LiteRT's, as they began; those that ended long ago may be missing
    callers: dict[int, _Span | None] = {}  # of the graph that runs now, by its number
    seen: Counter[tuple[int, str]] = Counter()
    for place, one in enumerate(recorded):
        if one.kind != XNNPACK_OPERATOR and one.name == _BEGINS and one.start_us:
            callers[one.graph] = _around(own, one) if one.graph else None
            # The next round of a loop has the operators of the one before.
            seen = Counter({key: n for key, n in seen.items() if key[0] != one.graph})
        caller = callers.get(one.graph)
        if one.kind == XNNPACK_OPERATOR:
            # Its parts of the model count from 0 each.
            within = f"{caller.key[0]}/" if caller else ""
            name = f"{within}{one.name} #{one.number}"
            seen[one.graph, name] += 1
            times = seen[one.graph, name]
            key: Key = (f"{name} ({times})" if times > 1 else name, one.name, "XNNPACK")
        elif one.kind == OPERATOR and one.name not in DELEGATES:
            name = name_of(one.number, one.graph) or f"{one.name} #{one.number}"
            key = (name, one.name, "LiteRT")
        else:
            continue
        span = _Span(one, key, operands.get(place))
        (caller.inner if caller else outermost).append(span)
        if one.kind == OPERATOR:
            own.append(span)
    return outermost


def _around(own: list[_Span], graph: Recorded) -> _Span | None:
    """The last operator that had not ended when a graph began; what had is forgotten."""
    while own and own[-1].one.start_us + own[-1].one.took_us <= graph.start_us:
        own.pop()
    return own[-1] if own else None
