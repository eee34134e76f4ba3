"""Which process a run belongs to, and whether that process still exists.

A killed process cannot write that its run has ended, so readers check whether the process exists.
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
    started: int  # with the pid, unique on a machine until it restarts

    def is_gone(self) -> bool:
        """Whether the process has ended; False if it is on another machine or in a container."""
        if self.host != platform.node():
            return False
        if self.started:
            return _start_ticks(self.pid) != self.started
        return not _exists(self.pid)  # the start time is not available


def current_process() -> Owner:
    return Owner(platform.node(), os.getpid(), _start_ticks(os.getpid()))


def current_job_owner() -> JobOwner:
    """For a database, whose rows outlive a restart of this machine."""
    return JobOwner(platform.node(), _boot_id(), os.getpid(), _start_ticks(os.getpid()))


def is_gone(owner: JobOwner) -> bool:
    """Whether the process has ended; False if it is on another machine."""
    if owner.host != platform.node():
        return False
    if owner.boot_id != _boot_id():
        return True
    return Owner(owner.host, owner.pid, owner.started).is_gone()


def _start_ticks(pid: int) -> int:
    """Clock ticks from boot to the start of the process; 0 if it has ended or may not be read."""
    try:
        line = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return 0
    state, *fields = line.rpartition(")")[2].split()
    return 0 if state in "ZX" else int(fields[18])  # a zombie has ended


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # of another user
        return True
    return True


def _boot_id() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""
