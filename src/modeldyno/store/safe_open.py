"""Open a file below a folder, whatever others do to that folder meanwhile.

A path that was checked and is then opened by its name may lead elsewhere by then. So nothing is
checked first: the kernel is asked to open the path without ever leaving the folder or following a
link (``openat2``, Linux 5.6), or, where it cannot, each name is opened in turn from the folder
before it.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import secrets
import struct

_OPENAT2 = 437  # the same on every architecture
_NO_MAGICLINKS, _NO_SYMLINKS, _BENEATH = 0x02, 0x04, 0x08
_ATTEMPTS = 8  # the kernel gives up when something above is being moved: ask again
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# A pipe or a terminal must neither keep us waiting nor become ours.
_CAREFULLY = os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NOCTTY | os.O_NONBLOCK
_LACKING = (errno.ENOSYS, errno.EPERM)  # an old kernel; a container that forbids the call


def open_below(folder: int, names: tuple[str, ...], flags: int) -> int:
    """A descriptor; raises OSError (ELOOP or ENOTDIR: a link was in the way)."""
    try:
        return _openat2(folder, "/".join(names), flags | _CAREFULLY)
    except OSError as error:
        if error.errno not in _LACKING:
            raise
    return open_below_name_by_name(folder, names, flags)


def open_below_name_by_name(folder: int, names: tuple[str, ...], flags: int) -> int:
    at = folder
    try:
        for name in names[:-1]:
            inner = os.open(name, _FOLDER, dir_fd=at)
            if at != folder:
                os.close(at)
            at = inner
        return os.open(names[-1], flags | _CAREFULLY, dir_fd=at)
    finally:
        if at != folder:
            os.close(at)


def write_below(folder: int, names: tuple[str, ...], content: bytes) -> None:
    """Make or replace a file, and make the folders on the way; no link is followed.

    Raises OSError as ``open_below`` does.
    """
    at = os.dup(folder)
    try:
        for name in names[:-1]:
            with contextlib.suppress(FileExistsError):
                os.mkdir(name, 0o755, dir_fd=at)
            inner = os.open(name, _FOLDER, dir_fd=at)
            os.close(at)
            at = inner
        waiting = f".{secrets.token_hex(8)}.new"
        new = os.open(waiting, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _CAREFULLY, 0o644, dir_fd=at)
        try:
            with os.fdopen(new, "wb") as file:
                file.write(content)
            os.replace(waiting, names[-1], src_dir_fd=at, dst_dir_fd=at)
        except BaseException:
            os.unlink(waiting, dir_fd=at)
            raise
    finally:
        os.close(at)


def _openat2(folder: int, path: str, flags: int) -> int:
    how = struct.pack("=QQQ", flags, 0, _BENEATH | _NO_SYMLINKS | _NO_MAGICLINKS)
    libc = ctypes.CDLL(None, use_errno=True)
    number = errno.ENOSYS
    for _ in range(_ATTEMPTS):
        found: int = libc.syscall(
            ctypes.c_long(_OPENAT2),
            ctypes.c_int(folder),
            os.fsencode(path),
            how,
            ctypes.c_size_t(len(how)),
        )
        if found >= 0:
            return found
        number = ctypes.get_errno()
        if number not in (errno.EAGAIN, errno.EINTR):
            break
    raise OSError(number, os.strerror(number))
