"""Which process a run belongs to, and whether that process is still there.

A process that is killed cannot say so. Its run would be "running" for ever, unless whoever reads it
can see that nobody is at work on it any more.
"""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass
from pathlib import Path

from modeldyno.core.jobs import JobOwner


@dataclass(frozen=True)
class Owner:
    host: str
    pid: int
    started: int  # with the pid, a name that a machine uses only once

    def is_gone(self) -> bool:
        """Whether the process has ended; of other machines and containers nobody can tell."""
        if self.host != platform.node():
            return False
        if self.started:
            return started(self.pid) != self.started
        return not _answers(self.pid)  # a system that does not say when a process began


def this_process() -> Owner:
    return Owner(platform.node(), os.getpid(), started(os.getpid()))


def this_job_owner() -> JobOwner:
    """The same for a database, which may outlive this machine's uptime."""
    return JobOwner(platform.node(), _boot_id(), os.getpid(), started(os.getpid()))


def is_gone(owner: JobOwner) -> bool:
    """Whether that process has ended; of other machines nobody can tell."""
    if owner.host != platform.node():
        return False
    if owner.boot_id != _boot_id():
        return True
    return Owner(owner.host, owner.pid, owner.started).is_gone()


def started(pid: int) -> int:
    """Clock ticks from boot to the process's start; 0 when it is gone, or not for our eyes."""
    try:
        line = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return 0
    state, *fields = line.rpartition(")")[2].split()
    return 0 if state in "ZX" else int(fields[18])  # a zombie does nothing any more


def _answers(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # somebody else's, but there
        return True
    return True


def _boot_id() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""
