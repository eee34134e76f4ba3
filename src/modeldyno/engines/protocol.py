"""What an engine must be able to do. ``docs/adding-an-engine.md`` walks through it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

from modeldyno.core.sessions import CallContract, SessionFacts, Target

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
