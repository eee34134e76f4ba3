"""Keep a worker's threads on the CPUs of its lease. Runs in the parent, which holds the lease.

A worker's main thread restricts itself before it loads a model, and the threads that it starts
inherit that. But some engines keep their thread pools from session to session, and the next lease
may be of other CPUs. A worker cannot move them: its sandbox lets it pin the calling thread only.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from pathlib import Path

from modeldyno.worker.messages import Command, MeasureSession, OpenSide, ProfileSession


def cpus_for(command: Command) -> tuple[int, ...]:
    """The CPUs for all threads of the worker; none if its sessions differ in them."""
    match command:
        case MeasureSession(target=target) | ProfileSession(target=target):
            return target.cpus
        case OpenSide(side=side):
            return side.target.cpus
    return ()


def move_pools(pid: int, cpus: Sequence[int]) -> None:
    """Move all threads of a process except its main one, if the system can.

    The main thread restricts itself after it has imported the engine: some engines count the CPUs
    only when they are loaded.
    """
    if not cpus or not hasattr(os, "sched_setaffinity"):
        return
    with contextlib.suppress(OSError):  # it has ended
        for thread in {int(task.name) for task in Path(f"/proc/{pid}/task").iterdir()} - {pid}:
            with contextlib.suppress(OSError):  # this one has
                os.sched_setaffinity(thread, cpus)
