"""Keep the server's own threads off the cores that are being measured on."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Collection

from modeldyno.measure.cpus import allowed_cpus, core_siblings, thread_ids

FEWEST_CPUS = 4  # with fewer, too little is left for a server that people wait for
SHARED = "the server shares these cores: its own work may slow single calls, the floor least"


class ServerAffinity:
    """Called by the thread that starts workers. It stays on all CPUs, since workers inherit them;
    it sleeps while they measure."""

    def __init__(self, fewest_cpus: int = FEWEST_CPUS) -> None:
        self._fewest = fewest_cpus
        self._others: set[int] = set()  # CPUs of the other threads, if they were moved

    def keep_off(self, leased: Collection[int]) -> str:
        """Move off these CPUs and their siblings; returns a note for the result if that is not
        possible."""
        self.restore()
        ours = set(allowed_cpus())
        others = ours - {sibling for cpu in leased for sibling in core_siblings(cpu)}
        if not hasattr(os, "sched_setaffinity") or len(ours) < self._fewest or not others:
            return SHARED
        _move(ours, others)
        self._others = others
        return ""

    def restore(self) -> None:
        if self._others:
            _move(self._others, set(allowed_cpus()))
            self._others = set()


def _move(before: set[int], after: set[int]) -> None:
    """All threads except the calling one and those that chose their own CPUs."""
    for thread in thread_ids():
        with contextlib.suppress(OSError):  # it has ended
            if thread != threading.get_native_id() and os.sched_getaffinity(thread) == before:
                os.sched_setaffinity(thread, after)
