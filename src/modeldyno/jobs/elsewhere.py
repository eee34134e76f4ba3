"""Keep the server's own threads off the cores that are being measured on."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Collection

from modeldyno.measure.cpus import allowed_cpus, core_siblings, thread_ids

FEWEST_CPUS = 4  # with fewer, what is left is too little for a server that people wait for
SHARED = "the server shares these cores: its own work may slow single calls, the floor least"


class Elsewhere:
    """Called by the thread that starts workers, which stays where it is: it sleeps while they
    measure, and they inherit its CPUs."""

    def __init__(self, fewest_cpus: int = FEWEST_CPUS) -> None:
        self._fewest = fewest_cpus
        self._rest: set[int] = set()  # where the others are now, if they were moved

    def move(self, leased: Collection[int]) -> str:
        """Off these CPUs and their siblings; returns what a result must say if that cannot be."""
        self.back()
        ours = set(allowed_cpus())
        rest = ours - {sibling for cpu in leased for sibling in core_siblings(cpu)}
        if not hasattr(os, "sched_setaffinity") or len(ours) < self._fewest or not rest:
            return SHARED
        _move(ours, rest)
        self._rest = rest
        return ""

    def back(self) -> None:
        if self._rest:
            _move(self._rest, set(allowed_cpus()))
            self._rest = set()


def _move(before: set[int], after: set[int]) -> None:
    """All threads but the calling one, and those that have chosen CPUs of their own."""
    for thread in thread_ids():
        with contextlib.suppress(OSError):  # it has ended meanwhile
            if thread != threading.get_native_id() and os.sched_getaffinity(thread) == before:
                os.sched_setaffinity(thread, after)
