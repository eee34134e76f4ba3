"""Busy processes: the noisy neighbours that a comparison must survive."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

# Each looks for its parent now and then, so that even `kill -9` of the test leaves none behind.
_SPIN = """
import os, sys
while os.getppid() == int(sys.argv[1]):
    for _ in range(1_000_000):
        pass
"""


@contextmanager
def busy_processes(count: int) -> Iterator[None]:
    """``count`` processes that compute for as long as the block lasts."""
    with ExitStack() as ending:
        for _ in range(count):
            process = subprocess.Popen(
                [sys.executable, "-S", "-c", _SPIN, str(os.getpid())],
                stdin=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                # Each a session of its own: Linux shares CPU time out between sessions first
                # (autogroups), and four in one would together weigh no more than one worker.
                start_new_session=True,
            )
            ending.callback(process.wait)
            ending.callback(process.kill)
        yield
