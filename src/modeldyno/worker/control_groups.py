"""A control group for each worker: the kernel enforces its limits and kills all of it at once.

The group is always below our own, so that our limits apply to the worker too. Creating one needs
cgroup version 2 and write access to our group; without these, ``worker/monitor.py`` and
``worker/descendants.py`` do what is possible from outside.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import os
import time
from dataclasses import dataclass
from pathlib import Path

from modeldyno.measure.system_files import own_folder, read_fields, read_text

CONTROLLERS = ("memory", "pids")
PATIENCE_S = 2.0  # until the kernel has ended all of a group
_OURSELVES = "modeldyno-supervisor"
_numbers = itertools.count()


@dataclass(frozen=True)
class ControlGroup:
    folder: Path
    bounds_memory: bool = False
    bounds_threads: bool = False

    def add(self, pid: int) -> None:
        _write(self.folder / "cgroup.procs", str(pid))

    def kill(self) -> None:
        with contextlib.suppress(OSError):
            _write(self.folder / "cgroup.kill", "1")

    def killed_for_memory(self) -> bool:
        """By its own limit: ``oom`` does not count kills by groups above it, or by the machine."""
        events = read_fields(self.folder / "memory.events")
        return all(events.get(name, "0") != "0" for name in ("oom", "oom_kill"))

    def remove(self) -> None:
        """Remove it once it is empty; if it does not become so, the next ``make_group`` will."""
        deadline = time.monotonic() + PATIENCE_S
        while read_fields(self.folder / "cgroup.events").get("populated") == "1":
            if time.monotonic() > deadline:
                return
            time.sleep(0.002)
        with contextlib.suppress(OSError):
            self.folder.rmdir()


def prefix_of(home: Path) -> str:
    """The start of the names of groups whose workers live in this folder."""
    return f"modeldyno-{hashlib.sha256(os.fsencode(home)).hexdigest()[:16]}-"


def make_group(home: Path, memory_bytes: int, threads: int, may_fork: bool) -> ControlGroup | None:
    """None if it cannot be created, or would be of no use."""
    try:
        above = own_folder()
        if above is None:
            return None
        above = above.parent if above.name == _OURSELVES else above
        _remove_stale(above)
        has_controllers = enable_controllers(above, CONTROLLERS)
        if not has_controllers and not may_fork:
            return None
        folder = above / f"{prefix_of(home)}{os.getpid()}-{next(_numbers)}"
        folder.mkdir()
    except OSError:
        return None
    try:
        return make_limited_group(folder, memory_bytes, threads)
    except OSError:
        with contextlib.suppress(OSError):
            folder.rmdir()
        return None


def make_limited_group(folder: Path, memory_bytes: int, threads: int) -> ControlGroup | None:
    """Give a new group its limits, if it has the controllers. Raises OSError."""
    if not (folder / "cgroup.kill").exists():  # before Linux 5.14
        folder.rmdir()
        return None
    bounds_memory = bool(memory_bytes) and (folder / "memory.max").exists()
    if bounds_memory:
        _write(folder / "memory.max", str(memory_bytes))
        _write(folder / "memory.oom.group", "1")
        if (folder / "memory.swap.max").exists():  # else there is no swap
            _write(folder / "memory.swap.max", "0")
    bounds_threads = (folder / "pids.max").exists()
    if bounds_threads:
        _write(folder / "pids.max", str(threads))
    return ControlGroup(folder, bounds_memory, bounds_threads)


def enable_controllers(folder: Path, controllers: tuple[str, ...]) -> bool:
    """Whether groups below ours have these controllers; enabled here if we are alone in our group.

    A group whose children are limited may hold no process itself, so we move one level down. The
    root group is not ours to change.
    """
    if set(controllers) <= _words(folder / "cgroup.subtree_control"):
        return True
    if not set(controllers) <= _words(folder / "cgroup.controllers"):
        return False
    if not (folder / "cgroup.type").exists():
        return False
    if _words(folder / "cgroup.procs") != {str(os.getpid())}:
        return False
    inner = folder / _OURSELVES
    inner.mkdir(exist_ok=True)
    _write(inner / "cgroup.procs", str(os.getpid()))
    try:
        _write(folder / "cgroup.subtree_control", " ".join(f"+{name}" for name in controllers))
    except OSError:
        _write(folder / "cgroup.procs", str(os.getpid()))
        inner.rmdir()
        return False
    return True


def _remove_stale(above: Path) -> None:
    """Remove empty groups whose makers were killed before they could."""
    for folder in above.glob("modeldyno-*-*-*"):
        maker = folder.name.split("-")[2]
        if maker.isdigit() and not Path(f"/proc/{maker}").exists():
            with contextlib.suppress(OSError):  # not empty
                folder.rmdir()


def _words(path: Path) -> set[str]:
    return set((read_text(path) or "").split())


def _write(path: Path, value: str) -> None:
    """In one piece, and without creating a file: all of the kernel's exist."""
    file = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(file, value.encode())
    finally:
        os.close(file)
