"""What an engine must be able to do. ``docs/adding-an-engine.md`` walks through it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from modeldyno.core.sessions import CallContract, SessionFacts, Target
from modeldyno.core.traces import Trace

Tensors = dict[str, Any]  # numpy arrays by name


@dataclass(frozen=True)
class Capabilities:
    formats: tuple[str, ...]
    devices: tuple[str, ...] = ("cpu",)
    contracts: tuple[CallContract, ...] = ("hot", "api", "e2e")
    pins_threads: bool = True  # else a number of cores cannot be asked of it


class Session(Protocol):
    """A model, loaded and ready, in one engine."""

    @property
    def facts(self) -> SessionFacts:
        """Read back from the engine, never echoed from the request."""

    def bind(self, inputs: Tensors, contract: CallContract) -> Callable[[], object]:
        """The call we time: no arguments, returns only when the device has finished."""

    def run(self, inputs: Tensors) -> Tensors:
        """Outputs by name, for parity and accuracy; not timed."""


class Engine(Protocol):
    name: str
    capabilities: Capabilities

    def version(self) -> str:
        """The installed version; imports the engine."""

    def open(self, target: Target) -> AbstractContextManager[Session]:
        """Load the model. Raises what the library raises; the worker turns it into words."""

    def examine(self, target: Target, inputs: Tensors) -> tuple[SessionFacts, Tensors]:
        """Load, run once and tell the effective precision and who ran which node; not timed."""


# ---------------------------------------------------------------- optional powers of an engine


class ProfiledSession(Protocol):
    """A session that the engine's own profiler watches."""

    @property
    def facts(self) -> SessionFacts: ...

    def bind(self, inputs: Tensors, contract: CallContract) -> Callable[[], object]:
        """As of any session."""

    def recording(self) -> AbstractContextManager[None]:
        """Calls inside it are recorded; those outside may be, too."""

    def trace(self, keep: Sequence[bool]) -> Trace:
        """Times of nodes in the last ``len(keep)`` recorded calls, of those to be kept."""

    def bare(self, contract: CallContract) -> Callable[[], object] | None:
        """A call of this engine that computes nothing; None where there is no such thing."""


@runtime_checkable
class Profiles(Protocol):
    """An engine that can tell where a model spends its time."""

    def profiled(self, target: Target, session: Any) -> AbstractContextManager[ProfiledSession]:
        """The model under the profiler: ``session`` itself, which goes on without it in between, or
        another one. What the profiler wrote is gone afterwards."""


@runtime_checkable
class Prepares(Protocol):
    """An engine that must know what is wanted when it is imported."""

    def prepare(self, target: Target) -> None:
        """Import it so that this target can be opened. Raises as ``open`` does."""


# ---------------------------------------------------------------- optional powers of a session


@runtime_checkable
class Resumes(Protocol):
    """A session whose engine has settings of the whole process, such as its number of threads."""

    def resume(self) -> None:
        """Make this session's settings true again: another session may have changed them."""


@runtime_checkable
class TimesDevice(Protocol):
    """A session whose device has a clock of its own."""

    def device_times_s(self, inputs: Tensors, calls: int) -> tuple[float, ...]:
        """Seconds between two marks in the device's queue around each call, the device's cache
        flushed before; empty where the device has no clock. Not part of the timed loop."""


@runtime_checkable
class FillsDevice(Protocol):
    """A session whose device has memory of its own."""

    def device_peak_bytes(self) -> int | None:
        """The most that was taken there since the model began to load; None where it has none."""
