"""Whether a process has a file open for writing.

The kernel grants no read lease on such a file. Only the file's owner may request one, and not every
file system supports it; then the answer is no.
"""

from __future__ import annotations

import errno
import fcntl
import signal


def is_open_for_writing(descriptor: int) -> bool:
    """``descriptor`` must be open for reading only."""
    if not hasattr(fcntl, "F_SETLEASE"):  # Linux has leases, others do not
        return False
    try:
        # If a process opens the file for writing while we hold the lease, the kernel sends a
        # signal: this one is ignored by default, while the usual one would end the process.
        fcntl.fcntl(descriptor, fcntl.F_SETSIG, signal.SIGURG)
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_RDLCK)
    except OSError as error:
        return error.errno in (errno.EAGAIN, errno.EWOULDBLOCK)
    fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    return False
