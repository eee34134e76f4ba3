"""A run's state, and the moves it may make."""

from __future__ import annotations

from typing import Literal

RunState = Literal["queued", "running", "done", "failed", "cancelled", "interrupted"]

MOVES: dict[RunState, tuple[RunState, ...]] = {
    "queued": ("running", "cancelled", "interrupted"),
    "running": ("done", "failed", "cancelled", "interrupted"),
    "done": ("running",),  # another run of the same benchmark adds units
    "failed": ("running",),
    "cancelled": ("running",),
    "interrupted": ("running",),
}


def may_move(before: RunState, after: RunState) -> bool:
    return after in MOVES[before]
