"""Open a file below a folder, safe from changes of that folder by others.

A path that is checked first may lead elsewhere when it is opened. So nothing is checked: the kernel
opens the path without leaving the folder or following a link (``openat2``, Linux 5.6). If it
cannot, each name is opened in turn from the folder before it.
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
_ATTEMPTS = 8  # the kernel gives up while a folder above is moved: ask again
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# A pipe must not block us, and a terminal must not become our controlling terminal.
_SAFE_FLAGS = os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NOCTTY | os.O_NONBLOCK
_LACKING = (errno.ENOSYS, errno.EPERM)  # an old kernel; a container that forbids the call


def open_below(folder: int, names: tuple[str, ...], flags: int) -> int:
    """A descriptor; raises OSError (ELOOP or ENOTDIR: there is a link in the path)."""
    try:
        return _openat2(folder, "/".join(names), flags | _SAFE_FLAGS)
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
        return os.open(names[-1], flags | _SAFE_FLAGS, dir_fd=at)
    finally:
        if at != folder:
            os.close(at)


def write_below(folder: int, names: tuple[str, ...], content: bytes) -> None:
    """Create or replace a file, and create the folders of its path; no link is followed.

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
        temporary = f".{secrets.token_hex(8)}.new"
        new = os.open(
            temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _SAFE_FLAGS, 0o644, dir_fd=at
        )
        try:
            with os.fdopen(new, "wb") as file:
                file.write(content)
            os.replace(temporary, names[-1], src_dir_fd=at, dst_dir_fd=at)
        except BaseException:
            os.unlink(temporary, dir_fd=at)
            raise
    finally:
        os.close(at)


def _openat2(folder: int, path: str, flags: int) -> int:
    how = struct.pack("=QQQ", flags, 0, _BENEATH | _NO_SYMLINKS | _NO_MAGICLINKS)
    libc = ctypes.CDLL(None, use_errno=True)
    number = errno.ENOSYS
    for _ in range(_ATTEMPTS):
        descriptor: int = libc.syscall(
            ctypes.c_long(_OPENAT2),
            ctypes.c_int(folder),
            os.fsencode(path),
            how,
            ctypes.c_size_t(len(how)),
        )
        if descriptor >= 0:
            return descriptor
        number = ctypes.get_errno()
        if number not in (errno.EAGAIN, errno.EINTR):
            break
    raise OSError(number, os.strerror(number))
