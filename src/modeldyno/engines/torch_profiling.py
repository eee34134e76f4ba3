"""PyTorch's own profiler: which operator took how long, the operators inside it taken out.

An operator has no name in a model; it is called by its kind and its place: ``aten::addmm #3`` is
the third of a call. The way to it counts as its own: Python needs time between operators, and a
model with fewer of them would not.
"""

from __future__ import annotations

import contextlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from modeldyno.core.sessions import CallContract, SessionFacts
from modeldyno.core.traces import Trace
from modeldyno.core.work import Operands
from modeldyno.engines.protocol import Tensors
from modeldyno.engines.recorded_calls import wanted
from modeldyno.engines.tallies import Event, Tally
from modeldyno.engines.torch_operands import operands_of

_CALL = "modeldyno call"
_MOST_EVENT_NS = 3_000
_OPERATOR = "cpu_op"
_RUNTIME = ("cuda", "cu", "hip", "[memory]")  # how calls of a device's library begin


class TorchProfiled:
    def __init__(self, session: Any, device: str, *, is_script: bool) -> None:
        self._session = session
        self._device = device
        self._is_script = is_script
        self._events: list[Any] = []
        self._call: Callable[[], object] | None = None

    @property
    def facts(self) -> SessionFacts:
        facts: SessionFacts = self._session.facts
        return facts

    def bind(self, inputs: Tensors, contract: CallContract) -> Callable[[], object]:
        """Each call has a mark around it, which says in the trace where it began and ended."""
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
        # Its own tables take several times as long to build as all these calls took: they are
        # neither asked for nor accumulated.
        self._events += profiler.profiler.kineto_results.events()

    def trace(self, keep: Sequence[bool]) -> Trace:
        trace = read_events(self._events, keep, self._device)
        known = self._operands()
        nodes = (
            replace(node, operands=known.get((node.node, node.op_type))) for node in trace.nodes
        )
        return replace(trace, nodes=tuple(nodes))

    def _operands(self) -> dict[tuple[str, str], Operands | None]:
        """Of one more call, for whose shapes the profiler is asked: telling them takes time. Its
        operators have the names that they had in the calls before."""
        from torch.profiler import ProfilerActivity, profile

        if self._call is None:
            return {}
        with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as profiler:
            self._call()
        events = profiler.profiler.kineto_results.events()
        operators = sorted((event for event in events if _is_operator(event)), key=_start)
        named = _named(operators, {}, "cpu")
        return {
            event.key[:2]: operands
            for event, operands in zip(named, operands_of(operators), strict=True)
        }

    def bare(self, contract: CallContract) -> Callable[[], object] | None:
        """A module that hands its input on, of the same kind as this one."""
        if self._device != "cpu":
            return None
        import torch

        identity: Any = torch.nn.Identity().eval()
        if self._is_script:
            identity = torch.jit.script(identity)
        nothing = torch.zeros(1)
        return lambda: identity(nothing)


def read_events(events: Sequence[Any], keep: Sequence[bool], device: str) -> Trace:
    calls = sorted(
        (event.start_ns(), event.start_ns() + event.duration_ns())
        for event in events
        if event.name() == _CALL and _is_on_cpu(event)
    )
    counted = wanted(len(calls), keep, "PyTorch's profiler")
    operators = sorted((event for event in events if _is_operator(event)), key=_start)
    on_device = _device_times(events, operators) if device != "cpu" else {}
    tally, place = Tally(_MOST_EVENT_NS, with_way=device == "cpu"), 0
    for number, (begin, end) in enumerate(calls):
        inside = []
        while place < len(operators) and operators[place].start_ns() < end:
            if operators[place].start_ns() >= begin:
                inside.append(operators[place])
            place += 1
        if number in counted:
            tally.add_call(_named(inside, on_device, device))
    return tally.trace()


def _is_on_cpu(event: Any) -> bool:
    return str(event.device_type()).endswith(".CPU")


def _is_operator(event: Any) -> bool:
    """PyTorch 2.13 says what an event is; before, its name has to tell."""
    if hasattr(event, "activity_type"):
        return bool(event.activity_type() == _OPERATOR)
    name = event.name()
    return _is_on_cpu(event) and name != _CALL and not name.startswith(_RUNTIME)


def _start(event: Any) -> int:
    return int(event.start_ns())


def _named(operators: list[Any], on_device: dict[int, int], device: str) -> Iterator[Event]:
    seen: Counter[str] = Counter()
    for operator in operators:
        name = str(operator.name())
        seen[name] += 1
        yield Event(
            start_ns=operator.start_ns(),
            duration_ns=operator.duration_ns(),
            key=(f"{name} #{seen[name]}", name, device),
            device_ns=on_device.get(operator.correlation_id(), 0) if device != "cpu" else None,
        )


def _device_times(events: Sequence[Any], operators: Sequence[Any]) -> dict[int, int]:
    """Nanoseconds on the device, by the operator that asked for it."""
    known = {operator.correlation_id() for operator in operators}
    found: dict[int, int] = defaultdict(int)
    for event in events:
        if _is_on_cpu(event) or event.name() == _CALL:  # the mark, as the device saw it
            continue
        asked_by = event.linked_correlation_id()
        if asked_by in known:
            found[asked_by] += event.duration_ns()
    return found
