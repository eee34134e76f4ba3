"""Core leases: two ``modeldyno`` processes never measure on one core.

Each CPU has a lock file in a folder that all users of the machine share, and a lease is the
kernel's lock on the files of whole cores: SMT siblings share what we measure, so they go together.
However a process ends, the kernel frees its locks. The file's content (process, its start time) is
for people to read; only the lock counts.

Whoever takes cores must first lock the door, and keeps it locked while waiting for them. So small
requests cannot overtake a large one for ever, and two requests never hold what the other one needs.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from modeldyno.core.errors import Cancelled, LeasesUnusable
from modeldyno.core.figures import duration
from modeldyno.measure.cpus import (
    allowed_cpus,
    core_siblings,
    format_cpu_ranges,
    measure_idle_ticks,
    rank_cpus,
)
from modeldyno.store.file_locks import is_locked
from modeldyno.store.owners import _start_ticks
from modeldyno.worker.launch import Stop

# One folder for the machine, so neither a user's own nor below TMPDIR. Sticky, links refused,
# contents never trusted. Processes with different folders may measure on one core.
FOLDER = Path(os.environ.get("MODELDYNO_CORES_FOLDER") or "/tmp/modeldyno-cores")  # noqa: S108
RETRY_S = 0.25
WORTH_A_NOTE_S = 1.0
_DOOR = "door"

OnWait = Callable[[str], None]
Core = tuple[int, ...]


@dataclass(frozen=True)
class Lease:
    cpus: tuple[int, ...]
    waited_s: float
    note: str = ""  # about these cores, for the result


def wait_note(waited_s: float) -> str:
    """A note for the result about the time waited for cores; empty if that was hardly any."""
    if waited_s < WORTH_A_NOTE_S:
        return ""
    return f"waited {duration(waited_s)} for cores; that counts against no budget or time limit"


class Leases:
    """``cores`` are the ones that we may use, each with all of its CPUs."""

    def __init__(self, folder: Path = FOLDER, cores: Sequence[Core] | None = None) -> None:
        self._folder = folder
        self._given = cores

    @contextlib.contextmanager
    def take(self, count: int, stop: Stop, on_wait: OnWait) -> Iterator[Lease]:
        """Lease ``count`` CPUs (or all there are) once they are free; ``on_wait`` gets
        what it waits for.

        Raises Cancelled when ``stop`` is requested meanwhile.
        """
        waiting = _Waiting(stop, on_wait)
        with self._opened_folder() as folder, contextlib.ExitStack() as held:
            with contextlib.ExitStack() as door:
                while not _try_to_lock(folder, _DOOR, door):
                    waiting.wait(f"waiting for cores behind {_describe_holder(folder, _DOOR)}")
                while (cpus := self._try_to_lock_cores(folder, count, held)) is None:
                    waiting.wait(self._waiting_reason(folder))
            yield Lease(cpus, waiting.seconds)

    @contextlib.contextmanager
    def take_now(self, count: int) -> Iterator[Lease | None]:
        """The same without waiting: None if not enough cores are free."""
        with self._opened_folder() as folder, contextlib.ExitStack() as held:
            with contextlib.ExitStack() as door:
                is_open = _try_to_lock(folder, _DOOR, door)
                cpus = self._try_to_lock_cores(folder, count, held) if is_open else None
            yield Lease(cpus, 0.0) if cpus else None

    def in_use(self) -> dict[int, str]:
        """Our CPUs that are leased, with their holders."""
        with self._opened_folder() as folder:
            return self._cores_in_use(folder)

    def of_others(self) -> dict[int, str]:
        """The same, without those that this process holds."""
        us = _process_name(os.getpid())
        return {cpu: holder for cpu, holder in self.in_use().items() if holder != us}

    def _try_to_lock_cores(
        self, folder: int, count: int, held: contextlib.ExitStack
    ) -> tuple[int, ...] | None:
        """All the cores or none; no other process picks meanwhile, since the door is locked."""
        cores, ours = self._list_cores()
        wanted = min(count, len(ours))
        picked: list[int] = []
        locked: set[Core] = set()
        refused: set[Core] = set()
        with contextlib.ExitStack() as attempt:
            for cpu, core in rank_cpus(cores, measure_idle_ticks()):
                if len(picked) == wanted or cpu not in ours or core in refused:
                    continue
                if core not in locked and not _lock_core(folder, core, attempt):
                    refused.add(core)
                    continue
                locked.add(core)
                picked.append(cpu)
            if len(picked) < wanted:
                return None
            held.enter_context(attempt.pop_all())
        return tuple(sorted(picked))

    def _list_cores(self) -> tuple[list[Core], set[int]]:
        """The cores that we may use at least partly, and our CPUs."""
        if self._given is not None:
            return list(self._given), {cpu for core in self._given for cpu in core}
        ours = allowed_cpus()
        return sorted({core_siblings(cpu) for cpu in ours}), set(ours)

    def _cores_in_use(self, folder: int) -> dict[int, str]:
        _, ours = self._list_cores()
        return {
            cpu: _describe_holder(folder, _lock_name(cpu))
            for cpu in sorted(ours)
            if not _is_free(folder, cpu)
        }

    def _waiting_reason(self, folder: int) -> str:
        used = self._cores_in_use(folder)
        holders = ", ".join(dict.fromkeys(used.values()))
        cores = f"{'core' if len(used) == 1 else 'cores'} {format_cpu_ranges(used)}"
        return f"waiting for {cores}, used by {holders}" if used else "waiting"

    @contextlib.contextmanager
    def _opened_folder(self) -> Iterator[int]:
        descriptor = _open_folder(self._folder)
        try:
            yield descriptor
        finally:
            os.close(descriptor)


# ---------------------------------------------------------------- locks


def _try_to_lock(folder: int, name: str, held: contextlib.ExitStack) -> bool:
    """Try to lock a file until ``held`` ends, and write our name into it."""
    with contextlib.ExitStack() as attempt:
        descriptor = _open_lock(folder, name)
        attempt.callback(_close_quietly, descriptor)
        if not is_locked(descriptor) or not _is_still_there(descriptor, folder, name):
            return False
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()} {_start_ticks(os.getpid())}\n".encode(), 0)
        held.enter_context(attempt.pop_all())
    return True


def _close_quietly(descriptor: int) -> None:
    """Unlock it, not just close: a fork of ours may hold the same file open."""
    fcntl.flock(descriptor, fcntl.LOCK_UN)
    os.close(descriptor)


def _lock_core(folder: int, core: Core, held: contextlib.ExitStack) -> bool:
    with contextlib.ExitStack() as attempt:
        if not all(_try_to_lock(folder, _lock_name(cpu), attempt) for cpu in core):
            return False
        held.enter_context(attempt.pop_all())
    return True


def _is_free(folder: int, cpu: int) -> bool:
    descriptor = _open_lock(folder, _lock_name(cpu))
    try:
        return is_locked(descriptor)
    finally:
        _close_quietly(descriptor)


def _lock_name(cpu: int) -> str:
    return f"cpu{cpu}"


def _is_still_there(descriptor: int, folder: int, name: str) -> bool:
    """A lock on a removed file protects nothing."""
    try:
        now = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return os.path.samestat(now, os.fstat(descriptor))


# ---------------------------------------------------------------- files in a shared folder


def _open_folder(path: Path) -> int:
    """A folder in which everybody may create files, and nobody may remove others' (sticky)."""
    try:
        with contextlib.suppress(FileExistsError):
            path.mkdir()
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError as error:
        raise _unusable_error(path, error.strerror or str(error)) from error
    facts = os.fstat(descriptor)
    if facts.st_uid == os.geteuid() and stat.S_IMODE(facts.st_mode) != 0o1777:
        os.fchmod(descriptor, 0o1777)  # new: for all users, whatever the umask
    elif facts.st_mode & stat.S_IWOTH and not facts.st_mode & stat.S_ISVTX:
        os.close(descriptor)
        raise _unusable_error(path, "anybody may remove locks from it (no sticky bit)")
    return descriptor


def _open_lock(folder: int, name: str) -> int:
    """A regular file with a single name: no link and no pipe."""
    flags = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        descriptor = _open_or_create(folder, name, flags)
    except OSError as error:
        raise _unusable_error(_path_of(folder) / name, error.strerror or str(error)) from error
    facts = os.fstat(descriptor)
    if not stat.S_ISREG(facts.st_mode) or facts.st_nlink > 1:
        os.close(descriptor)
        raise _unusable_error(_path_of(folder) / name, "it is not an ordinary file of its own")
    return descriptor


def _open_or_create(folder: int, name: str, flags: int) -> int:
    """Open first: the kernel may refuse O_CREAT on another user's file in a sticky folder."""
    while True:
        with contextlib.suppress(FileNotFoundError):
            return os.open(name, flags, dir_fd=folder)
        with contextlib.suppress(FileExistsError):
            created = os.open(name, flags | os.O_CREAT | os.O_EXCL, 0o666, dir_fd=folder)
            os.fchmod(created, 0o666)  # whatever the umask: other users lock it too
            return created


def _unusable_error(path: Path, why: str) -> LeasesUnusable:
    return LeasesUnusable(
        f"Cannot lock CPU cores with {path}",
        why=why,
        fix=f"Remove it (`sudo rm -r {FOLDER}`); it is made again when needed",
    )


def _path_of(folder: int) -> Path:
    with contextlib.suppress(OSError):
        return Path(f"/proc/self/fd/{folder}").readlink()
    return FOLDER


# ---------------------------------------------------------------- who holds it


def _describe_holder(folder: int, name: str) -> str:
    """For people: anybody may write these files, so only the pid of a living process counts."""
    with contextlib.suppress(OSError, ValueError):
        descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
        try:
            pid, began = (int(word) for word in os.pread(descriptor, 64, 0).split())
        finally:
            os.close(descriptor)
        if began == _start_ticks(pid):
            return _process_name(pid)
    return "another modeldyno"


def _process_name(pid: int) -> str:
    return f"modeldyno pid {pid}"


# ---------------------------------------------------------------- waiting


class _Waiting:
    """Reports each reason for waiting once."""

    def __init__(self, stop: Stop, on_wait: OnWait) -> None:
        self._stop = stop
        self._on_wait = on_wait
        self._latest_reason = ""
        self._since: float | None = None

    @property
    def seconds(self) -> float:
        return 0.0 if self._since is None else time.monotonic() - self._since

    def wait(self, why: str) -> None:
        """Wait a moment before the next attempt."""
        if self._since is None:
            self._since = time.monotonic()
        if why != self._latest_reason:
            self._latest_reason = why
            self._on_wait(why)
        if self._stop.sleep(RETRY_S):
            raise Cancelled("Stopped while waiting for cores")
