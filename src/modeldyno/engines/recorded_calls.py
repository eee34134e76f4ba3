"""What a profiler recorded of each call, and which calls count."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Generic, TypeVar

from modeldyno.core.errors import EngineFailed

PROFILE_AGAIN = "Profile it again"
Record = TypeVar("Record")


class RecordedCalls(Generic[Record]):
    """A record per call, for profilers that can be read after every call."""

    def __init__(self, profiler: str) -> None:
        self.is_on = False
        self._profiler = profiler
        self._records: list[Record] = []

    def __len__(self) -> int:
        return len(self._records)

    def add(self, record: Record) -> None:
        self._records.append(record)

    @contextlib.contextmanager
    def recording(self) -> Iterator[None]:
        self.is_on = True
        try:
            yield
        finally:
            self.is_on = False

    def select(self, keep: Sequence[bool]) -> list[Record]:
        """The records of the calls that count; raises EngineFailed if some were lost."""
        numbers = counted_calls(len(self), keep, self._profiler)
        return [self._records[number] for number in sorted(numbers)]


def counted_calls(
    calls: int, keep: Sequence[bool], profiler: str, *, fix: str = PROFILE_AGAIN
) -> set[int]:
    """Numbers of the calls that count, out of ``calls`` recorded ones: ``keep`` describes the last
    of them. Raises EngineFailed if fewer were recorded than that."""
    first = calls - len(keep)
    if first < 0:
        raise lost_calls(profiler, calls=len(keep), recorded=calls, fix=fix)
    return {first + number for number, is_kept in enumerate(keep) if is_kept}


def lost_calls(
    profiler: str, *, calls: int, recorded: int, fix: str = PROFILE_AGAIN
) -> EngineFailed:
    return EngineFailed(
        f"{profiler} lost calls", why=f"{calls} were made, it recorded {recorded}", fix=fix
    )
