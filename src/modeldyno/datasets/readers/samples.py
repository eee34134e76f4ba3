"""Samples that are read one by one, each from an entry that says where it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from modeldyno.core.errors import DatasetUnreadable
from modeldyno.datasets.protocol import Sample


class Entries(Protocol):
    def __len__(self) -> int: ...

    def __getitem__(self, number: int, /) -> Any: ...


@dataclass(frozen=True)
class LazySamples:
    entries: Entries
    read: Callable[[Any], Sample]

    def __len__(self) -> int:
        return len(self.entries)

    def __getitem__(self, number: int) -> Sample:
        return self.read(self.entries[number])

    def __iter__(self) -> Iterator[Sample]:
        return (self[number] for number in range(len(self)))


def samples_of(
    entries: Entries, read: Callable[[Any], Sample], *, why: str, fix: str
) -> LazySamples:
    """``why`` and ``fix`` are what to say if there are no entries."""
    if not len(entries):
        raise DatasetUnreadable("The dataset has no samples", why=why, fix=fix)
    return LazySamples(entries, read)
