"""Whether somebody is writing to a file at this moment.

The kernel knows: it gives nobody a read lease on a file that is open for writing. Only the file's
owner may ask, and not every file system answers; then nobody is known to write.
"""

from __future__ import annotations

import errno
import fcntl
import signal


def is_being_written(descriptor: int) -> bool:
    """``descriptor`` must be open for reading only."""
    if not hasattr(fcntl, "F_SETLEASE"):  # Linux has leases, others do not
        return False
    try:
        # Who opens the file to write while we hold the lease makes the kernel tell us: by a signal
        # that is ignored unless somebody asked for it, where the usual one would end the process.
        fcntl.fcntl(descriptor, fcntl.F_SETSIG, signal.SIGURG)
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_RDLCK)
    except OSError as error:
        return error.errno in (errno.EAGAIN, errno.EWOULDBLOCK)
    fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    return False
