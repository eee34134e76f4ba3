"""What bounds a worker beside its sandbox. Standard library only: a worker limits itself first."""

from __future__ import annotations

import contextlib
import ctypes
import sys
from dataclasses import dataclass
from pathlib import Path

LARGEST_FILE = 1 << 30
MOST_FILES = 1024  # that are open
_SET_CHILD_SUBREAPER = 36
_FIRST_TO_GO = "1000"


@dataclass(frozen=True)
class WorkerLimits:
    """Limits that the parent enforces (``worker/resource_usage.py``); users set that of memory."""

    scratch_bytes: int = 8 << 30  # files that are deleted and still open included
    scratch_files: int = 100_000
    log_bytes: int = 64 << 20  # of a run, all its workers together
    threads: int = 4096  # of a worker and what it started
    look_s: float = 0.25  # between two looks
    cgroups: bool = True  # False: as on a system where we may not make any


def limit(memory_bytes: int) -> None:
    """No core dumps, no endless files, no more memory than allowed (0: no limit).

    RLIMIT_DATA counts what is really writable; RLIMIT_AS would also count address space that
    engines reserve and mapped weights (docs/decisions/0004). It does not count shared memory, which
    the parent watches. RLIMIT_NPROC would not bound threads: it counts what else the user runs, and
    nothing of root's.
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
        # Only root may raise a limit that somebody has set before us.
        least = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (least, least))
    if sys.platform == "linux":
        _go_first_when_memory_runs_out()
        _keep_descendants()


def _go_first_when_memory_runs_out() -> None:
    """Rather this process than any other of the user's; no privilege is needed to ask for that."""
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(_FIRST_TO_GO)


def _keep_descendants() -> None:
    """Descendants of children that ended become ours, so that the parent finds them below us."""
    on, nothing = ctypes.c_ulong(1), ctypes.c_ulong(0)
    ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, on, nothing, nothing, nothing)
