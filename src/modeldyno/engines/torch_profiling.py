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

from modeldyno.core.sessions import CallContract, SessionFacts
from modeldyno.core.traces import Trace
from modeldyno.core.work import Operands
from modeldyno.engines.protocol import Tensors
from modeldyno.engines.recorded_calls import counted_calls
from modeldyno.engines.tallies import NodeEvent, Tally
from modeldyno.engines.torch_operands import operands_of

_CALL = "modeldyno call"
_MOST_EVENT_NS = 3_000
_OPERATOR = "cpu_op"
_RUNTIME = ("cuda", "cu", "hip", "[memory]")  # prefixes of calls of a device's library


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
        operands = self._operands()
        nodes = (
            replace(node, operands=operands.get((node.node, node.op_type))) for node in trace.nodes
        )
        return replace(trace, nodes=tuple(nodes))

    def _operands(self) -> dict[tuple[str, str], Operands | None]:
        """From an additional call, since recording shapes takes time. Its operators have the same
        names as in the calls before."""
        from torch.profiler import ProfilerActivity, profile

        if self._call is None:
            return {}
        with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as profiler:
            self._call()
        events = profiler.profiler.kineto_results.events()
        operators = sorted((event for event in events if _is_operator(event)), key=_start)
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
    operators = sorted((event for event in events if _is_operator(event)), key=_start)
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


def _start(event: Any) -> int:
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
