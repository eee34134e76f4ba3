"""A thread for each worker: it logs what the worker prints, and watches what it uses.

The worker's output must be read at all times, or a full pipe would block it in the middle of a
measurement. The log is cut at its limit, and later output is read and dropped: an engine that
prints much has not failed.

Usage is checked a few times a second, and each check is short however much there is to see: memory
and threads are read from small files of the kernel, scratch files are counted a portion at a time.
What the kernel limits itself (``worker/control_groups.py``) is not checked.
"""

from __future__ import annotations

import contextlib
import fcntl
import logging
import os
import re
import selectors
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from modeldyno.core import figures
from modeldyno.core.errors import EngineFailed, OutOfMemory, RunFailed, StorageFailed
from modeldyno.worker.limits import WorkerLimits
from modeldyno.worker.untrusted_folders import entries

logger = logging.getLogger(__name__)

_AT_ONCE = 1 << 16
_LAST_OUTPUT = 4096


class RunLog:
    """A run's log, which several workers may write to at once."""

    def __init__(self, path: Path, most_bytes: int) -> None:
        self._most = most_bytes
        self._end = f"\n[The log ends here: a run may write {figures.size(most_bytes)}]\n".encode()
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)

    def add(self, output: bytes) -> None:
        """Append as much as there is room for. Raises OSError."""
        fcntl.flock(self._file, fcntl.LOCK_EX)
        try:
            room = self._most - os.fstat(self._file).st_size
            if len(output) + len(self._end) > room:
                output = output[: max(room - len(self._end), 0)] + self._end
            if len(output) <= room:
                os.write(self._file, output)
        finally:
            fcntl.flock(self._file, fcntl.LOCK_UN)

    def close(self) -> None:
        os.close(self._file)


class WorkerMonitor:
    """Owns ``output``, the reading end of a pipe, and ``log``. ``stop`` ends the worker."""

    def __init__(
        self,
        output: int,
        log: RunLog,
        watch: ResourceWatch | None,
        check_s: float,
        stop: Callable[[RunFailed], None],
    ) -> None:
        self._output = output
        self._log = log
        self._watch = watch
        self._check_s = check_s
        self._stop = stop
        self._ended, self._end = os.pipe()
        self.last_output = b""  # complete once the thread has finished
        self._thread = threading.Thread(target=self._run_thread, name="worker-monitor", daemon=True)

    def start(self) -> None:
        os.set_blocking(self._output, False)
        self._thread.start()

    def finish(self) -> None:
        """Log the last output of a worker that has ended, then end the thread."""
        os.close(self._end)
        if self._thread.ident is not None:
            self._thread.join()
        for descriptor in (self._ended, self._output):
            os.close(descriptor)
        self._log.close()

    def _run_thread(self) -> None:
        _use_cpus_of_main_thread()
        with selectors.DefaultSelector() as selector:
            selector.register(self._output, selectors.EVENT_READ)
            selector.register(self._ended, selectors.EVENT_READ)
            check_at = time.monotonic() + self._check_s
            while True:
                wait_s = max(0.0, check_at - time.monotonic()) if self._watch else None
                ready = {key.fd for key, _ in selector.select(wait_s)}
                if self._output in ready and self._read() is False:
                    selector.unregister(self._output)
                if self._ended in ready:
                    while self._read():
                        pass
                    return
                if self._watch is not None and time.monotonic() >= check_at:
                    self._check()
                    check_at = time.monotonic() + self._check_s

    def _read(self) -> bool | None:
        """Whether there was output; False at its end, None if there is none for now."""
        try:
            output = os.read(self._output, _AT_ONCE)
        except BlockingIOError:
            return None
        self.last_output = (self.last_output + output)[-_LAST_OUTPUT:]
        if output:
            with contextlib.suppress(OSError):  # a full disk stops no engine
                self._log.add(output)
        return bool(output)

    def _check(self) -> None:
        assert self._watch is not None
        try:
            exceeded = self._watch.check()
        except Exception:
            logger.exception("a worker cannot be watched")
            return
        if exceeded is not None:
            self._watch = None
            self._stop(exceeded)


def _use_cpus_of_main_thread() -> None:
    """This thread starts with the CPUs of the one that starts workers, which stays on the measured
    cores; all others keep off them (``jobs/server_leases.py``)."""
    if hasattr(os, "sched_setaffinity"):
        with contextlib.suppress(OSError):
            os.sched_setaffinity(0, os.sched_getaffinity(os.getpid()))


# ---------------------------------------------------------------- what a worker uses


FILES_AT_ONCE = 1000  # in one check: some milliseconds
COUNT_EVERY = 4  # checks: files grow more slowly than memory
_STATUS = re.compile(rb"^(RssAnon|RssShmem|VmSwap|HugetlbPages|Threads):\s+(\d+)", re.MULTILINE)
_ROLLUP = re.compile(rb"^(?:Pss_Anon|SwapPss):\s+(\d+)", re.MULTILINE)
_MAPPING = re.compile(rb"^[0-9a-f]+-[0-9a-f]+ \S+ \S+ \S+ (\d+) *(.*)$")
_SHARED = (b"/memfd:", b"/dev/zero (deleted)", b"/dev/shm/", b"/SYSV")
_BLOCK = 512  # bytes, whatever the file system


@dataclass(frozen=True)
class _Usage:
    private: int  # bytes; pages shared by fork count in each process
    shared: int  # mapped pages of shared memory
    threads: int


@dataclass(frozen=True)
class _NamelessFiles:
    """Open files that have no name any more, by inode."""

    memory: dict[int, int]  # bytes of memory files
    disk: dict[int, int]  # bytes of deleted ones


class ResourceWatch:
    """``below`` returns the pids that a worker has started; ``memory_bytes`` of 0 is no limit."""

    def __init__(
        self,
        pid: int,
        scratch: Path,
        limits: WorkerLimits,
        memory_bytes: int,
        below: Callable[[], list[int]],
        counts_threads: bool = True,
    ) -> None:
        self._pid = pid
        self._scratch = scratch
        self._limits = limits
        self._memory_bytes = memory_bytes
        self._below = below
        self._counts_threads = counts_threads
        self._pass: Iterator[os.stat_result] | None = None
        self._files = self._bytes = 0
        self._checks = 0

    def check(self) -> RunFailed | None:
        """The limit that the worker exceeds, if any. A worker that has ended exceeds none."""
        pids = [self._pid, *self._below()]
        usages = [usage for pid in pids if (usage := _read_usage(pid)) is not None]
        nameless = _find_nameless_files(pids)
        return (
            self._check_threads(usages)
            or self._check_memory(pids, usages, nameless)
            or self._check_scratch(sum(nameless.disk.values()))
        )

    def _check_threads(self, usages: list[_Usage]) -> RunFailed | None:
        most, threads = self._limits.threads, sum(usage.threads for usage in usages)
        if threads <= most or not self._counts_threads:
            return None
        return EngineFailed(
            "The engine started more threads than a worker may have",
            why=f"there were {threads}, and {most} are allowed",
            fix="Use fewer --cores or --streams, or do not trust this model",
        )

    def _check_memory(
        self, pids: list[int], usages: list[_Usage], nameless: _NamelessFiles
    ) -> RunFailed | None:
        most = self._memory_bytes
        files = sum(nameless.memory.values())
        # Counts pages twice that are mapped and in an open memory file, or shared by fork.
        at_most = sum(usage.private + usage.shared for usage in usages) + files
        if not most or at_most <= most:
            return None
        used = files + sum(_nameless_bytes_mapped(pid, nameless) for pid in pids)
        return out_of_memory_error(most, used) if used > most else None

    def _check_scratch(self, deleted: int) -> RunFailed | None:
        """Continue counting where the last check stopped, or start again when it is time."""
        self._checks += 1
        if self._pass is None:
            if self._checks % COUNT_EVERY:
                return self._scratch_failure(self._bytes + deleted)
            self._pass, self._files, self._bytes = entries(self._scratch), 0, 0
        try:
            for _ in range(FILES_AT_ONCE):
                facts = next(self._pass)
                self._files += 1
                self._bytes += facts.st_blocks * _BLOCK
        except (StopIteration, OSError):  # the end, or it was changed: count again
            self._pass = None
        return self._scratch_failure(self._bytes + deleted)

    def _scratch_failure(self, total: int) -> RunFailed | None:
        limits = self._limits
        if total > limits.scratch_bytes:
            most = figures.size(limits.scratch_bytes)
            why = f"it held {figures.size(total)}, and {most} are allowed"
        elif self._files > limits.scratch_files:
            why = f"it held more than {limits.scratch_files} files"
        else:
            return None
        return StorageFailed(
            "The worker filled its scratch folder",
            why=why,
            fix="The run's log may say what it wrote; do not run models that you do not trust",
        )


def out_of_memory_error(most: int, used: int | None = None) -> OutOfMemory:
    used_text = f"it used {figures.size(used)}, and " if used else ""
    return OutOfMemory(
        "The worker was stopped: it used more memory than it may",
        why=f"{used_text}{figures.size(most)} are allowed, shared memory included",
        fix="Use a smaller batch, or raise --memory-limit",
    )


def _read_usage(pid: int) -> _Usage | None:
    status = {field: int(count) for field, count in _STATUS.findall(_read_proc_file(pid, "status"))}
    if b"RssAnon" not in status:  # it has ended
        return None
    private = status[b"RssAnon"] + status.get(b"VmSwap", 0) + status.get(b"HugetlbPages", 0)
    return _Usage(private * 1024, status.get(b"RssShmem", 0) * 1024, status.get(b"Threads", 1))


def _find_nameless_files(pids: list[int]) -> _NamelessFiles:
    nameless = _NamelessFiles({}, {})
    for pid in pids:
        with contextlib.suppress(OSError), os.scandir(f"/proc/{pid}/fd") as listing:
            for entry in listing:
                with contextlib.suppress(OSError):  # closed since
                    _add_file_size(nameless, entry.path)
    return nameless


def _add_file_size(nameless: _NamelessFiles, link: str) -> None:
    target = os.readlink(link)  # noqa: PTH115 - a thousand of them, quickly
    if not target.startswith("/") or not target.endswith(" (deleted)"):
        return
    facts = os.stat(link)  # noqa: PTH116 - as above
    sizes = nameless.memory if target.startswith("/memfd:") else nameless.disk
    sizes[facts.st_ino] = facts.st_blocks * _BLOCK


def _nameless_bytes_mapped(pid: int, nameless: _NamelessFiles) -> int:
    """A process's share of memory, so that no page counts twice, and without open memory files.
    Takes milliseconds, so it is used only if the quick sum exceeds the limit."""
    rollup = _ROLLUP.findall(_read_proc_file(pid, "smaps_rollup"))
    if not rollup:  # it has ended, or we may not read that file
        usage = _read_usage(pid)
        return usage.private + usage.shared if usage else 0
    mapped = sum(
        count for number, count in _read_shared_mappings(pid) if number not in nameless.memory
    )
    return sum(map(int, rollup)) * 1024 + mapped


def _read_shared_mappings(pid: int) -> Iterator[tuple[int, int]]:
    """The inode of each mapped memory file, and this process's share of it in bytes."""
    number: int | None = None
    for line in _read_proc_file(pid, "smaps").splitlines():
        if mapping := _MAPPING.match(line):
            is_shared = mapping[2].startswith(_SHARED)
            number = int(mapping[1]) if is_shared else None
        elif number is not None and line.startswith(b"Pss:"):
            yield number, int(line.split()[1]) * 1024


def _read_proc_file(pid: int, name: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes()
    except OSError:
        return b""
