"""Processes that a worker has started: find and end them, even outside of its process group.

A worker adopts the orphans among its descendants (``worker/limits.py``), so all of them are below
it while it lives. Once it has died, they are known by its network namespace, which they cannot
leave, and by earlier looks. If the parent dies, the kernel ends the worker; what that has started
(a compiler, a helper of an engine) would keep its core, so the next server ends these orphans.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

from modeldyno.worker.control_groups import prefix_of

PATIENCE_S = 5.0  # for processes that start others faster than we stop them
_MOST_ROUNDS = 100  # for orphans that start others while we look


class Descendants:
    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._seen: dict[int, str] = {}  # when each of them started: pids are used again
        self._namespace: int | None = None

    def hold_namespace(self) -> None:
        """Call this once the worker is in its own network namespace. While we hold that open, no
        other namespace gets its number."""
        with contextlib.suppress(OSError):
            namespace = os.open(f"/proc/{self._pid}/ns/net", os.O_RDONLY | os.O_CLOEXEC)
            if os.fstat(namespace).st_ino == os.stat("/proc/self/ns/net").st_ino:  # noqa: PTH116 - number
                os.close(namespace)
            else:
                self._namespace = namespace

    def find_all(self) -> list[int]:
        """All processes below the worker; cheap, but may miss what starts meanwhile."""
        below = _collect_below(self._pid, _read_children)
        self._seen |= {
            pid: started for pid in below if (started := _read_start_time(pid)) is not None
        }
        return below

    def end_below(self) -> None:
        """End all descendants of a worker that has not been reaped yet. It is stopped first, so
        that it starts no more of them."""
        _send_signal(self._pid, signal.SIGSTOP)
        _stop_and_kill(lambda: _find_descendants(self._pid))

    def end_remaining(self) -> None:
        """End those that are left once the worker is gone."""
        if self._namespace is not None:
            number = os.fstat(self._namespace).st_ino
            _stop_and_kill(lambda: _find_in_namespaces({number}))
            os.close(self._namespace)
            self._namespace = None
        for pid, started in self._seen.items():
            if _read_start_time(pid) == started:
                _send_signal(pid, signal.SIGKILL)


def _list_pids() -> list[int]:
    try:
        return [int(name) for name in os.listdir("/proc") if name.isdigit()]  # noqa: PTH208 - numbers
    except OSError:  # a system without /proc
        return []


def _find_in_namespaces(numbers: Collection[int]) -> list[int]:
    """The processes in these network namespaces."""
    return [pid for pid in _list_pids() if _namespace_of(pid) in numbers]


def _namespace_of(pid: int) -> int | None:
    try:
        return os.stat(f"/proc/{pid}/ns/net").st_ino  # noqa: PTH116 - a number
    except OSError:
        return None


def _stop_and_kill(find: Callable[[], list[int]]) -> None:
    """Stop them all before any is killed: else they could start others as fast as we kill."""
    deadline = time.monotonic() + PATIENCE_S
    stopped: set[int] = set()
    while new := [pid for pid in find() if pid not in stopped]:
        for pid in new:
            _send_signal(pid, signal.SIGSTOP)
        stopped.update(new)
        if time.monotonic() > deadline:
            break
    for pid in stopped:
        _send_signal(pid, signal.SIGKILL)


def _find_descendants(pid: int) -> list[int]:
    """From the parent of every process: unlike ``_read_children``, this misses none."""
    children: dict[int, list[int]] = {}
    for child, parent in _iterate_pids_with_parents():
        children.setdefault(parent, []).append(child)
    return _collect_below(pid, lambda parent: children.get(parent, []))


def _collect_below(pid: int, children: Callable[[int], list[int]]) -> list[int]:
    below: set[int] = set()
    waiting = [pid]
    while waiting:
        inner = set(children(waiting.pop())) - below
        below |= inner
        waiting += inner
    return list(below)


def _iterate_pids_with_parents() -> Iterator[tuple[int, int]]:
    for pid in _list_pids():
        fields = _read_stat(pid)
        if fields and fields[0] not in ("Z", "X"):
            yield pid, int(fields[1])


def _read_children(pid: int) -> list[int]:
    children: list[int] = []
    with contextlib.suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):  # noqa: PTH208 - names
            with contextlib.suppress(OSError):
                listed = Path(f"/proc/{pid}/task/{thread}/children").read_text()
                children += [int(word) for word in listed.split()]
    return children


def _read_start_time(pid: int) -> str | None:
    """In ticks since boot; None if it has ended, even if its parent has not reaped it yet."""
    fields = _read_stat(pid)
    return fields[19] if fields and fields[0] not in ("Z", "X") else None


def _read_stat(pid: int) -> list[str]:
    """The fields after the name, which may contain anything."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return []


def _send_signal(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


# ---------------------------------------------------------------- orphans


def end_orphans(home: Path) -> int:
    """Kill all processes of workers that lived in ``home``, a scratch folder, with their process
    groups; returns how many there were. Nobody may be running in that folder any more."""
    ended: set[int] = set()
    for _ in range(_MOST_ROUNDS):
        orphans = _find_orphans(home)
        for pid in orphans:
            _kill_group(pid)
        if orphans <= ended:
            break
        ended |= orphans
    return len(ended)


def _find_orphans(home: Path) -> set[int]:
    """Processes with this home in their environment or control group, and those that share a
    network namespace with one of them."""
    orphans = {pid for pid in _list_pids() if _has_home(pid, home) or _is_in_group(pid, home)}
    orphans = {pid for pid in orphans if pid != os.getpid() and _read_start_time(pid) is not None}
    ours = _namespace_of(os.getpid())
    theirs = {number for pid in orphans if (number := _namespace_of(pid)) not in (None, ours)}
    return orphans | set(_find_in_namespaces(theirs)) if theirs else orphans


def _has_home(pid: int, home: Path) -> bool:
    """Workers get it with their environment, and pass it on."""
    with contextlib.suppress(OSError):
        return f"HOME={home}".encode() in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    return False


def _is_in_group(pid: int, home: Path) -> bool:
    with contextlib.suppress(OSError):
        return f"/{prefix_of(home)}" in Path(f"/proc/{pid}/cgroup").read_text()
    return False


def _kill_group(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        group = os.getpgid(pid)
        os.kill(pid, signal.SIGKILL)
        if group != os.getpgrp():
            os.killpg(group, signal.SIGKILL)
