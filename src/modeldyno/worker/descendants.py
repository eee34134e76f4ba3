"""What a worker has started: find it and end it, also when it has left its process group.

A worker adopts the orphans among its descendants (``worker/limits.py``), so all of them are below
it while it lives. Once it has died by itself, they are known by its network namespace, which they
cannot leave, and by what was seen of them before.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

PATIENCE_S = 5.0  # for processes that start others faster than we stop them


class Descendants:
    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._seen: dict[int, str] = {}  # when each of them started: numbers are used again
        self._namespace: int | None = None

    def hold_namespace(self) -> None:
        """Call it once the worker is in a network namespace of its own. While we hold it open, no
        other gets its number."""
        with contextlib.suppress(OSError):
            held = os.open(f"/proc/{self._pid}/ns/net", os.O_RDONLY | os.O_CLOEXEC)
            if os.fstat(held).st_ino == os.stat("/proc/self/ns/net").st_ino:  # noqa: PTH116 - number
                os.close(held)
            else:
                self._namespace = held

    def look(self) -> list[int]:
        """All that live below the worker; cheap, and may miss what starts meanwhile."""
        found: list[int] = []
        waiting = [self._pid]
        while waiting:
            inner = [pid for pid in _children(waiting.pop()) if pid not in found]
            found += inner
            waiting += inner
        self._seen |= {pid: started for pid in found if (started := _started(pid)) is not None}
        return found

    def end_below(self) -> None:
        """End all descendants of a worker that has not been reaped yet. It is stopped for that:
        who is stopped starts nothing."""
        _signal(self._pid, signal.SIGSTOP)
        _end(lambda: _descendants(self._pid))

    def end_rest(self) -> None:
        """End those that were left when the worker was gone."""
        if self._namespace is not None:
            number = os.fstat(self._namespace).st_ino
            _end(lambda: in_namespaces({number}))
            os.close(self._namespace)
            self._namespace = None
        for pid, started in self._seen.items():
            if _started(pid) == started:
                _signal(pid, signal.SIGKILL)


def pids() -> list[int]:
    try:
        return [int(name) for name in os.listdir("/proc") if name.isdigit()]  # noqa: PTH208 - numbers
    except OSError:  # a system without it; then we know of none
        return []


def in_namespaces(numbers: Collection[int]) -> list[int]:
    """The processes in these network namespaces."""
    return [pid for pid in pids() if namespace_of(pid) in numbers]


def namespace_of(pid: int) -> int | None:
    try:
        return os.stat(f"/proc/{pid}/ns/net").st_ino  # noqa: PTH116 - a number
    except OSError:
        return None


def _end(find: Callable[[], list[int]]) -> None:
    """Stop them all, then kill them: who starts others as fast as we kill would win."""
    deadline = time.monotonic() + PATIENCE_S
    stopped: set[int] = set()
    while new := [pid for pid in find() if pid not in stopped]:
        for pid in new:
            _signal(pid, signal.SIGSTOP)
        stopped.update(new)
        if time.monotonic() > deadline:
            break
    for pid in stopped:
        _signal(pid, signal.SIGKILL)


def _descendants(pid: int) -> list[int]:
    """From what every process says of its parent."""
    below: dict[int, list[int]] = {}
    for child, parent in _parents():
        below.setdefault(parent, []).append(child)
    found: list[int] = []
    waiting = [pid]
    while waiting:
        inner = below.get(waiting.pop(), [])
        found += inner
        waiting += inner
    return found


def _parents() -> Iterator[tuple[int, int]]:
    for pid in pids():
        fields = _stat(pid)
        if fields and fields[0] not in ("Z", "X"):
            yield pid, int(fields[1])


def _children(pid: int) -> list[int]:
    found: list[int] = []
    with contextlib.suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):  # noqa: PTH208 - names
            with contextlib.suppress(OSError):
                listed = Path(f"/proc/{pid}/task/{thread}/children").read_text()
                found += [int(word) for word in listed.split()]
    return found


def is_alive(pid: int) -> bool:
    """Not one that has ended and only waits for its parent to notice."""
    return _started(pid) is not None


def _started(pid: int) -> str | None:
    """In ticks since the machine was switched on; None when it has ended."""
    fields = _stat(pid)
    return fields[19] if fields and fields[0] not in ("Z", "X") else None


def _stat(pid: int) -> list[str]:
    """The fields behind the name, which may hold anything."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return []


def _signal(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)
