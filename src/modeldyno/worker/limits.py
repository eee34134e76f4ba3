"""Limits of a worker besides its sandbox. Standard library only: a worker limits itself first."""

from __future__ import annotations

import contextlib
import sys
from dataclasses import dataclass
from pathlib import Path

from modeldyno.worker.system_calls import prctl

LARGEST_FILE = 1 << 30
MOST_FILES = 1024  # that are open
_SET_CHILD_SUBREAPER = 36
_FIRST_TO_GO = "1000"


@dataclass(frozen=True)
class WorkerLimits:
    """Limits that the parent enforces (``worker/monitor.py``); users limit memory only."""

    scratch_bytes: int = 8 << 30  # files that are deleted and still open included
    scratch_files: int = 100_000
    log_bytes: int = 64 << 20  # of a run, all its workers together
    threads: int = 4096  # of a worker and what it started
    check_s: float = 0.25  # between two checks
    cgroups: bool = True  # False: behave as if we may not create any


def limit_address_space(memory_bytes: int) -> None:
    """No core dumps, no endless files, no more memory than allowed (0: no limit).

    RLIMIT_DATA counts writable memory; RLIMIT_AS would also count address space that engines only
    reserve, and mapped weights (docs/decisions/0004). Neither counts shared memory, so the parent
    watches that. RLIMIT_NPROC would not bound threads: it counts everything that the user runs, and
    does not apply to root.
    """
    import resource

    wanted = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_FSIZE: LARGEST_FILE,
        resource.RLIMIT_NOFILE: MOST_FILES,
    }
    if memory_bytes:
        wanted[resource.RLIMIT_DATA] = min(memory_bytes, sys.maxsize)
    for kind, most in wanted.items():
        _, hard = resource.getrlimit(kind)
        # Only root may raise a limit that was set before us.
        least = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (least, least))
    if sys.platform == "linux":
        # When memory runs out, end this process before the user's others; this needs no privilege.
        with contextlib.suppress(OSError):
            Path("/proc/self/oom_score_adj").write_text(_FIRST_TO_GO)
        # Orphaned descendants become our children, so that the parent finds them below us.
        with contextlib.suppress(OSError):
            prctl(_SET_CHILD_SUBREAPER)
