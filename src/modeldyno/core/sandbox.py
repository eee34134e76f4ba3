"""The walls around a worker: what is asked for, and what the system gave."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Sandboxing = Literal["on", "off", "required"]  # required: no walls, no measurement


@dataclass(frozen=True)
class SandboxSpec:
    """What a worker may touch beside Python, its packages and the system's libraries."""

    scratch: str  # the only folder it may write to
    readable: tuple[str, ...] = ()  # files and folders
    inspectable: tuple[str, ...] = ()  # readable only until an engine is loaded
    devices: tuple[str, ...] = ()  # nodes below /dev that an engine drives
    memory_limit_bytes: int = 0  # 0: none
    allow_exec: bool = False  # may start processes: compilers need that
    enabled: bool = True  # False: limits only


@dataclass(frozen=True)
class SandboxReport:
    """What a worker is really confined by; ``missing`` says what it could do nevertheless."""

    level: Literal["full", "partial", "none"]
    missing: tuple[str, ...] = ()
    layers: tuple[str, ...] = ()
    landlock_abi: int = 0

    def __str__(self) -> str:
        return f"{self.level} ({'; '.join(self.missing)})" if self.missing else self.level
