"""The kernel's lock on an open file, which ends with whoever has it."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def is_locked(descriptor: int) -> bool:
    """Whether it is ours now; does not wait for it."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """The file is ours alone meanwhile, created if there is none; waits for whoever has it."""
    with path.open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
