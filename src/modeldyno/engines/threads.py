"""Threads of engines: count them, and refuse to set whether they spin."""

from __future__ import annotations

from pathlib import Path

from modeldyno.core.errors import BadValue
from modeldyno.core.sessions import Target


def count_threads() -> int:
    """Threads of this process; 0 if the system does not report them."""
    try:
        return sum(1 for _ in Path("/proc/self/task").iterdir())
    except OSError:
        return 0


def require_default_spinning(engine: str, target: Target) -> None:
    """For an engine that cannot switch spinning on or off; raises BadValue."""
    if target.spinning is not None:
        raise BadValue(
            f"Whether {engine}'s threads spin cannot be set",
            why="it has no switch for that",
            fix="Leave --spin out",
        )
