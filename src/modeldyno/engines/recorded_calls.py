"""Which calls a profiler saw, and which of them count."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Generic, TypeVar

from modeldyno.core.errors import EngineFailed

PROFILE_AGAIN = "Profile it again"
Told = TypeVar("Told")


class RecordedCalls(Generic[Told]):
    """What a profiler told of each call, for those that can be asked with every one of them."""

    def __init__(self, profiler: str) -> None:
        self.is_on = False
        self._profiler = profiler
        self._told: list[Told] = []

    def __len__(self) -> int:
        return len(self._told)

    def add(self, told: Told) -> None:
        self._told.append(told)

    @contextlib.contextmanager
    def recording(self) -> Iterator[None]:
        self.is_on = True
        try:
            yield
        finally:
            self.is_on = False

    def kept(self, keep: Sequence[bool]) -> list[Told]:
        """Of the calls to look at; raises EngineFailed where some were lost."""
        return [self._told[number] for number in sorted(wanted(len(self), keep, self._profiler))]


def wanted(
    calls: int, keep: Sequence[bool], profiler: str, *, fix: str = PROFILE_AGAIN
) -> set[int]:
    """Numbers of the calls to look at, of so many that the profiler saw: ``keep`` speaks of the
    last ones. Raises EngineFailed where it saw fewer."""
    first = calls - len(keep)
    if first < 0:
        raise lost_calls(profiler, made=len(keep), seen=calls, fix=fix)
    return {first + number for number, is_kept in enumerate(keep) if is_kept}


def lost_calls(profiler: str, *, made: int, seen: int, fix: str = PROFILE_AGAIN) -> EngineFailed:
    return EngineFailed(
        f"{profiler} lost calls", why=f"{made} were made, {seen} are in what it tells", fix=fix
    )
