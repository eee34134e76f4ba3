"""Progress of the upgrade of a database."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Step:
    number: int  # from 1
    of: int
    what: str

    def __str__(self) -> str:
        return f"step {self.number} of {self.of}: {self.what}" if self.of else "it begins"


OnStep = Callable[[Step], None]
# Entered when an upgrade begins, left when it ends; gives a function to call with each step.
UpgradeProgress = Callable[[], AbstractContextManager[OnStep]]
