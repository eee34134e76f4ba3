"""What an engine's profiler recorded in one repeat: raw, as the worker sends it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from modeldyno.core.sessions import CallContract, SessionFacts, Timings, UnitContent
from modeldyno.core.work import Operands

MOST_NODES = 20_000  # of a trace; the rest become one
OTHERS = "(other nodes)"


@dataclass(frozen=True)
class NodeTime:
    """A node, in all calls of the trace together."""

    node: str
    op_type: str
    provider: str
    self_ns: int  # without nested nodes, so that nothing counts twice
    events: int  # recorded: how often it ran
    inner: int = 0  # events of nested nodes, whose recording takes time of this one
    device_ns: int | None = None  # on an accelerator, by its own clock
    operands: Operands | None = None  # of one execution; None: not recorded, or not always the same
    parts: tuple[str, ...] = ()  # names of the model's nodes that this one was made of


@dataclass(frozen=True)
class Trace:
    nodes: tuple[NodeTime, ...]
    calls: int  # of the model, that were recorded
    outer: int  # top-level events, in all calls together
    most_event_ns: int  # upper limit of what recording an event costs, even on a busy machine


@dataclass(frozen=True)
class ProfilePlan:
    """How long to measure one repeat: with the profiler, and as long without."""

    min_time_s: float = 0.25
    fewest_calls: int = 5
    most_calls: int = 2_000
    turns: int = 4  # of each, one after the other
    gap_s: float = 0.0  # pause before each, so that the other's spinning threads go to sleep
    warmup_limit_s: float = 0.5


@dataclass(frozen=True)
class ProfileRepeat(UnitContent):
    """One fresh session beside another under the profiler, called in turns."""

    facts: SessionFacts
    load_s: float
    contract: CallContract  # as called: an engine may lack the requested one
    plain_ns: tuple[int, ...]  # of each call without the profiler, half of them before, half after
    profiled_ns: tuple[int, ...]  # of each call with it
    trace: Trace
    bare_ns: int | None = None  # of a call that computes nothing, if the engine has one
    kind: Literal["repeat"] = "repeat"

    def timings(self) -> tuple[Timings, ...]:
        return Timings("plain", 1, self.plain_ns), Timings("profiled", 1, self.profiled_ns)
