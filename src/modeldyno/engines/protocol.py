"""What an engine must be able to do. ``docs/adding-an-engine.md`` walks through it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from modeldyno.core.profiles import Trace
from modeldyno.core.sessions import CallContract, SessionFacts, Target

Tensors = dict[str, Any]  # numpy arrays by name


@dataclass(frozen=True)
class Capabilities:
    formats: tuple[str, ...]
    devices: tuple[str, ...] = ("cpu",)
    contracts: tuple[CallContract, ...] = ("hot", "api", "e2e")
    pins_threads: bool = True  # False: the number of cores cannot be chosen


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
        """Load the model. Raises what the library raises; the worker explains it."""

    def examine(self, target: Target, inputs: Tensors) -> tuple[SessionFacts, Tensors]:
        """Load, run once, and report the effective precision and which provider ran each node;
        not timed."""


# ---------------------------------------------------------------- optional powers of an engine


class ProfiledSession(Protocol):
    """A session under the engine's own profiler."""

    @property
    def facts(self) -> SessionFacts: ...

    def bind(self, inputs: Tensors, contract: CallContract) -> Callable[[], object]:
        """As ``Session.bind``."""

    def recording(self) -> AbstractContextManager[None]:
        """Records the calls made inside it; calls outside may be recorded, too."""

    def trace(self, keep: Sequence[bool]) -> Trace:
        """Node times over the last ``len(keep)`` recorded calls, counting those marked True."""

    def bare(self, contract: CallContract) -> Callable[[], object] | None:
        """A call of this engine that computes nothing; None if the engine has no such call."""


class ProfiledDefaults:
    """A profiled session that always records, with the facts and calls of ``_session``."""

    _session: Any

    @property
    def facts(self) -> SessionFacts:
        facts: SessionFacts = self._session.facts
        return facts

    def bind(self, inputs: Tensors, contract: CallContract) -> Callable[[], object]:
        call: Callable[[], object] = self._session.bind(inputs, contract)
        return call

    def recording(self) -> AbstractContextManager[None]:
        return nullcontext()

    def bare(self, contract: CallContract) -> Callable[[], object] | None:
        return None


@runtime_checkable
class Profiles(Protocol):
    """An engine that can show where a model spends its time."""

    def profiled(self, target: Target, session: Any) -> AbstractContextManager[ProfiledSession]:
        """The model under the profiler: ``session`` itself, if its profiler can be switched on and
        off, or another one. Files that the profiler wrote are removed afterwards."""


@runtime_checkable
class Prepares(Protocol):
    """An engine with settings that are fixed when it is imported."""

    def prepare(self, target: Target) -> None:
        """Import the engine with the settings of this target. Raises as ``open`` does."""


# ---------------------------------------------------------------- optional powers of a session


@runtime_checkable
class Resumes(Protocol):
    """A session whose engine has settings of the whole process, such as its number of threads."""

    def reapply_settings(self) -> None:
        """Apply this session's settings again: another session may have changed them."""


@runtime_checkable
class TimesDevice(Protocol):
    """A session whose device has a clock of its own."""

    def device_times_s(self, inputs: Tensors, calls: int) -> tuple[float, ...]:
        """Seconds between two marks in the device's queue around each call, with the device's cache
        flushed before each; empty if the device has no clock. Not part of the timed loop."""


@runtime_checkable
class FillsDevice(Protocol):
    """A session whose device has memory of its own."""

    def device_peak_bytes(self) -> int | None:
        """Peak memory use on the device since the model began to load; None if unknown."""
