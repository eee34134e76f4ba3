"""The kernel's lock on an open file, which ends with whoever has it."""

from __future__ import annotations

import fcntl


def is_locked(descriptor: int) -> bool:
    """Whether it is ours now; does not wait for it."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
