"""LiteRT's own profiler: each operator of each call, in whole microseconds.

What XNNPACK took it tells by XNNPACK's names, of which one may stand for several operators of the
file; what LiteRT runs itself, by the file's.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
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
        for recorded in self._calls.kept(keep):
            operands = operands_of(recorded, known, parts)
            tally.add_call(events_of(recorded, self._name, operands))
        return tally.trace()

    def bare(self, contract: CallContract) -> Callable[[], object] | None:
        return None

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

    def _name(self, number: int) -> str:
        return self._model.operator_name(number) if self._model is not None else ""


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


def events_of(
    recorded: Sequence[Recorded],
    name_of: Callable[[int], str],
    operands: Mapping[int, Operands],
) -> Iterator[Event]:
    """One after the other: XNNPACK tells how long its operators took, not when they began.
    ``operands`` are by the place among those that were recorded."""
    seen: dict[str, int] = {}
    at_ns = 0
    for place, one in enumerate(recorded):
        if one.kind == XNNPACK_OPERATOR:
            # Its parts of the model count from 0 each.
            name = f"{one.name} #{one.number}"
            seen[name] = seen.get(name, 0) + 1
            again = f" ({seen[name]})" if seen[name] > 1 else ""
            key: Key = (f"{name}{again}", one.name, "XNNPACK")
        elif one.kind == OPERATOR and one.name not in DELEGATES:
            key = (name_of(one.number) or f"{one.name} #{one.number}", one.name, "LiteRT")
        else:
            continue
        yield Event(at_ns, one.took_us * 1000, key, operands=operands.get(place))
        at_ns += one.took_us * 1000 + 1
