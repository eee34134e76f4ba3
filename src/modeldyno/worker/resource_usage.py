"""Watch what a worker uses, from outside, and report when it is too much.

A few times a second, and each look is short however much there is to see: memory and threads are
read from small files of the kernel, scratch files are counted a portion at a time. What the kernel
limits itself (``worker/control_groups.py``) is not checked.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from modeldyno.core import figures
from modeldyno.core.errors import EngineFailed, OutOfMemory, RunFailed, StorageFailed
from modeldyno.worker.limits import WorkerLimits
from modeldyno.worker.untrusted_folders import entries

FILES_AT_ONCE = 1000  # in one look: some milliseconds
COUNT_EVERY = 4  # looks: files grow more slowly than memory
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
        self._looks = 0

    def look(self) -> RunFailed | None:
        """The limit that the worker exceeds, if any. A worker that has ended exceeds none."""
        pids = [self._pid, *self._below()]
        usages = [usage for pid in pids if (usage := _usage(pid)) is not None]
        nameless = _nameless_files(pids)
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
        used = files + sum(_share(pid, nameless) for pid in pids)
        return memory_passed(most, used) if used > most else None

    def _check_scratch(self, deleted: int) -> RunFailed | None:
        """Continue counting where the last look stopped, or start again when it is time."""
        self._looks += 1
        if self._pass is None:
            if self._looks % COUNT_EVERY:
                return self._judge_scratch(self._bytes + deleted)
            self._pass, self._files, self._bytes = entries(self._scratch), 0, 0
        try:
            for _ in range(FILES_AT_ONCE):
                facts = next(self._pass)
                self._files += 1
                self._bytes += facts.st_blocks * _BLOCK
        except (StopIteration, OSError):  # the end, or it was changed: count again
            self._pass = None
        return self._judge_scratch(self._bytes + deleted)

    def _judge_scratch(self, total: int) -> RunFailed | None:
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


def memory_passed(most: int, used: int | None = None) -> OutOfMemory:
    used_text = f"it used {figures.size(used)}, and " if used else ""
    return OutOfMemory(
        "The worker was stopped: it used more memory than it may",
        why=f"{used_text}{figures.size(most)} are allowed, shared memory included",
        fix="Use a smaller batch, or raise --memory-limit",
    )


def _usage(pid: int) -> _Usage | None:
    status = {field: int(count) for field, count in _STATUS.findall(_read(pid, "status"))}
    if b"RssAnon" not in status:  # it has ended
        return None
    private = status[b"RssAnon"] + status.get(b"VmSwap", 0) + status.get(b"HugetlbPages", 0)
    return _Usage(private * 1024, status.get(b"RssShmem", 0) * 1024, status.get(b"Threads", 1))


def _nameless_files(pids: list[int]) -> _NamelessFiles:
    nameless = _NamelessFiles({}, {})
    for pid in pids:
        with contextlib.suppress(OSError), os.scandir(f"/proc/{pid}/fd") as listing:
            for entry in listing:
                with contextlib.suppress(OSError):  # closed since
                    _add_file(nameless, entry.path)
    return nameless


def _add_file(nameless: _NamelessFiles, link: str) -> None:
    target = os.readlink(link)  # noqa: PTH115 - a thousand of them, quickly
    if not target.startswith("/") or not target.endswith(" (deleted)"):
        return
    facts = os.stat(link)  # noqa: PTH116 - as above
    sizes = nameless.memory if target.startswith("/memfd:") else nameless.disk
    sizes[facts.st_ino] = facts.st_blocks * _BLOCK


def _share(pid: int, nameless: _NamelessFiles) -> int:
    """A process's share of memory, so that no page counts twice, and without open memory files.
    Takes milliseconds, so it is used only if the quick sum exceeds the limit."""
    rollup = _ROLLUP.findall(_read(pid, "smaps_rollup"))
    if not rollup:  # it has ended, or we may not read that file
        usage = _usage(pid)
        return usage.private + usage.shared if usage else 0
    mapped = sum(count for number, count in _shared(pid) if number not in nameless.memory)
    return sum(map(int, rollup)) * 1024 + mapped


def _shared(pid: int) -> Iterator[tuple[int, int]]:
    """The inode of each mapped memory file, and this process's share of it in bytes."""
    number: int | None = None
    for line in _read(pid, "smaps").splitlines():
        if mapping := _MAPPING.match(line):
            is_shared = mapping[2].startswith(_SHARED)
            number = int(mapping[1]) if is_shared else None
        elif number is not None and line.startswith(b"Pss:"):
            yield number, int(line.split()[1]) * 1024


def _read(pid: int, name: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes()
    except OSError:
        return b""
