"""LiteRT's own profiler: each operator of each call, in whole microseconds.

What XNNPACK took it tells by XNNPACK's names, of which one may stand for several operators of the
file; what LiteRT runs itself, by the file's.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from modeldyno.core.errors import EngineFailed
from modeldyno.core.sessions import CallContract, SessionFacts, Target
from modeldyno.core.traces import Trace
from modeldyno.engines.litert_library import (
    OPERATOR,
    XNNPACK_OPERATOR,
    CompiledModel,
    Recorded,
)
from modeldyno.engines.protocol import Tensors
from modeldyno.engines.tallies import Event, Key, Tally, last

_MOST_EVENT_NS = 5_000
_CUT_OFF_NS = 500  # of whole microseconds, in the mean
_DELEGATES = ("DELEGATE", "TfLiteXNNPackDelegate")  # stand around what XNNPACK tells by itself
_MOST_CALLS_KEPT = 100_000


class LiteRtProfiled:
    """A session of the same model, loaded with the profiler."""

    def __init__(self, target: Target, takes_xnnpack: bool, session: Any) -> None:
        self._target = target
        self._takes_xnnpack = takes_xnnpack
        self._session = session
        self._model: CompiledModel | None = None
        self._shapes: tuple[tuple[int, ...], ...] = ()
        self._is_recording = False
        self._calls: list[list[Recorded]] = []

    @property
    def facts(self) -> SessionFacts:
        facts: SessionFacts = self._session.facts
        return facts

    def bind(self, inputs: Tensors, contract: CallContract) -> Callable[[], object]:
        values = [inputs[port.name] for port in self._session.inputs]
        model = self._opened(tuple(tuple(value.shape) for value in values))
        bound = _bound(model, values, contract)

        def call() -> object:
            if not self._is_recording:
                return bound()
            model.start()
            try:
                return bound()
            finally:
                model.stop()
                if len(self._calls) < _MOST_CALLS_KEPT:
                    self._calls.append(model.take())

        return call

    @contextlib.contextmanager
    def recording(self) -> Iterator[None]:
        self._is_recording = True
        try:
            yield
        finally:
            self._is_recording = False

    def trace(self, keep: Sequence[bool]) -> Trace:
        if len(self._calls) < len(keep):
            raise EngineFailed(
                "LiteRT's profiler lost calls",
                why=f"{len(keep)} were made, {len(self._calls)} are recorded",
                fix="Profile it again",
            )
        wanted = last(len(self._calls), keep)
        tally = Tally(_MOST_EVENT_NS, _CUT_OFF_NS)
        for number in sorted(wanted):
            tally.add_call(events_of(self._calls[number], self._name))
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


def events_of(recorded: Sequence[Recorded], name_of: Callable[[int], str]) -> Iterator[Event]:
    """One after the other: XNNPACK tells how long its operators took, not when they began."""
    seen: dict[str, int] = {}
    at_ns = 0
    for one in recorded:
        if one.kind == XNNPACK_OPERATOR:
            # Its parts of the model count from 0 each.
            name = f"{one.name} #{one.number}"
            seen[name] = seen.get(name, 0) + 1
            again = f" ({seen[name]})" if seen[name] > 1 else ""
            key: Key = (f"{name}{again}", one.name, "XNNPACK")
        elif one.kind == OPERATOR and one.name not in _DELEGATES:
            key = (name_of(one.number) or f"{one.name} #{one.number}", one.name, "LiteRT")
        else:
            continue
        yield Event(at_ns, one.took_us * 1000, key)
        at_ns += one.took_us * 1000 + 1
