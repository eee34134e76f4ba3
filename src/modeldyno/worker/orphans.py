"""Workers that outlived who started them.

The kernel ends a worker with its parent. What the worker itself has started (a compiler, a helper
of an engine) is not told, and would keep its core.
"""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path


def end_orphans(home: Path) -> int:
    """Kill the groups of all processes that live in ``home``, a worker's scratch folder; how many
    there were. Nobody may be at work on that run."""
    groups = {group for pid in _pids() if (group := _group(pid, home)) is not None}
    for group in groups - {os.getpgrp()}:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(group, signal.SIGKILL)
    return len(groups)


def _pids() -> list[int]:
    try:
        return [int(name) for name in os.listdir("/proc") if name.isdigit()]  # noqa: PTH208 - numbers
    except OSError:  # a system without it; then we know of none
        return []


def _group(pid: int, home: Path) -> int | None:
    """Of a process with that home: workers get it with their environment, and pass it on."""
    with contextlib.suppress(OSError):
        told = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        if f"HOME={home}".encode() in told:
            return os.getpgid(pid)
    return None
