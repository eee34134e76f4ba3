"""Keep the server's own threads off the cores that are being measured on."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Collection

from modeldyno.measure.cpus import allowed_cpus, core_of

FEWEST_CPUS = 4  # with fewer, what is left is too little for a server that people wait for
SHARED = "the server shares these cores"


class Elsewhere:
    """Called by the thread that starts workers, which stays where it is: it sleeps while they
    measure, and they inherit its CPUs."""

    def __init__(self, fewest_cpus: int = FEWEST_CPUS) -> None:
        self._fewest = fewest_cpus
        self._moved = False

    def move(self, leased: Collection[int]) -> str:
        """Off these CPUs and their siblings; returns what a result must say if that cannot be."""
        ours = set(allowed_cpus())
        rest = ours - {sibling for cpu in leased for sibling in core_of(cpu)}
        if not hasattr(os, "sched_setaffinity") or len(ours) < self._fewest or not rest:
            self.back()
            return SHARED
        _confine(rest)
        self._moved = True
        return ""

    def back(self) -> None:
        if self._moved:
            _confine(set(allowed_cpus()))
            self._moved = False


def _confine(cpus: set[int]) -> None:
    """All threads of this process but the calling one."""
    for name in os.listdir("/proc/self/task"):  # noqa: PTH208 - numbers, not paths
        if int(name) != threading.get_native_id():
            with contextlib.suppress(OSError):  # it has ended meanwhile
                os.sched_setaffinity(int(name), cpus)
