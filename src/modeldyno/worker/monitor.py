"""A thread for each worker: it logs what the worker prints, and watches what it uses.

The worker's output must be read at all times, or a full pipe would block it in the middle of a
measurement. The log is cut at its limit, and later output is read and dropped: an engine that
prints much has not failed.
"""

from __future__ import annotations

import contextlib
import fcntl
import logging
import os
import selectors
import threading
import time
from collections.abc import Callable
from pathlib import Path

from modeldyno.core import figures
from modeldyno.core.errors import RunFailed
from modeldyno.worker.resource_usage import ResourceWatch

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
        look_s: float,
        stop: Callable[[RunFailed], None],
    ) -> None:
        self._output = output
        self._log = log
        self._watch = watch
        self._look_s = look_s
        self._stop = stop
        self._ended, self._end = os.pipe()
        self.last_output = b""  # complete once the thread has finished
        self._thread = threading.Thread(target=self._work, name="worker-monitor", daemon=True)

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

    def _work(self) -> None:
        _follow_the_main_thread()
        with selectors.DefaultSelector() as selector:
            selector.register(self._output, selectors.EVENT_READ)
            selector.register(self._ended, selectors.EVENT_READ)
            look_at = time.monotonic() + self._look_s
            while True:
                wait_s = max(0.0, look_at - time.monotonic()) if self._watch else None
                ready = {key.fd for key, _ in selector.select(wait_s)}
                if self._output in ready and self._read() is False:
                    selector.unregister(self._output)
                if self._ended in ready:
                    while self._read():
                        pass
                    return
                if self._watch is not None and time.monotonic() >= look_at:
                    self._look()
                    look_at = time.monotonic() + self._look_s

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

    def _look(self) -> None:
        assert self._watch is not None
        try:
            exceeded = self._watch.look()
        except Exception:
            logger.exception("a worker cannot be watched")
            return
        if exceeded is not None:
            self._watch = None
            self._stop(exceeded)


def _follow_the_main_thread() -> None:
    """This thread starts with the CPUs of the one that starts workers, which stays on the measured
    cores; all others keep off them (``jobs/server_affinity.py``)."""
    if hasattr(os, "sched_setaffinity"):
        with contextlib.suppress(OSError):
            os.sched_setaffinity(0, os.sched_getaffinity(os.getpid()))
