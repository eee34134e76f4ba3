"""Whether threads spin while they wait: few engines let anybody choose."""

from __future__ import annotations

from modeldyno.core.errors import BadValue
from modeldyno.core.sessions import Target


def refuse(engine: str, target: Target) -> None:
    """For an engine that cannot do as it is told; raises BadValue."""
    if target.spinning is not None:
        raise BadValue(
            f"Whether {engine}'s threads spin cannot be set",
            why="it has no switch for that",
            fix="Leave --spin out",
        )
