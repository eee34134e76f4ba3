"""What outlived the process that started its worker.

The kernel ends a worker with its parent. What the worker itself has started (a compiler, a helper
of an engine) lives on, and would keep its core.
"""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path

from modeldyno.worker.control_groups import prefix_of
from modeldyno.worker.descendants import in_namespaces, is_alive, namespace_of, pids

_MOST_ROUNDS = 100  # for those that start others while we look


def end_orphans(home: Path) -> int:
    """Kill all processes of workers that lived in ``home``, a scratch folder, with their process
    groups; how many there were. Nobody may be at work on that run."""
    ended: set[int] = set()
    for _ in range(_MOST_ROUNDS):
        found = _orphans(home)
        for pid in found:
            _kill(pid)
        if found <= ended:
            break
        ended |= found
    return len(ended)


def _orphans(home: Path) -> set[int]:
    """Those with the worker's home in their environment or in its control group, and whoever shares
    a network namespace with one of them."""
    found = {pid for pid in pids() if _has_home(pid, home) or _is_in_group(pid, home)}
    found = {pid for pid in found if pid != os.getpid() and is_alive(pid)}
    ours = namespace_of(os.getpid())
    theirs = {number for pid in found if (number := namespace_of(pid)) not in (None, ours)}
    return found | set(in_namespaces(theirs)) if theirs else found


def _has_home(pid: int, home: Path) -> bool:
    """Workers get it with their environment, and pass it on."""
    with contextlib.suppress(OSError):
        return f"HOME={home}".encode() in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    return False


def _is_in_group(pid: int, home: Path) -> bool:
    with contextlib.suppress(OSError):
        return f"/{prefix_of(home)}" in Path(f"/proc/{pid}/cgroup").read_text()
    return False


def _kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        group = os.getpgid(pid)
        os.kill(pid, signal.SIGKILL)
        if group != os.getpgrp():
            os.killpg(group, signal.SIGKILL)
