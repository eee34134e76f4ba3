"""Landlock, Linux's sandbox for ordinary users: a process gives up rights that it never regains.

https://docs.kernel.org/userspace-api/landlock.html. What a kernel can withhold grows with its ABI
number; asking for more than it knows is an error, so each right names the ABI that brought it.
"""

from __future__ import annotations

import os
import stat
import struct
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from enum import IntFlag

from modeldyno.worker.system_calls import system_call

NEWEST_ABI = 6  # later ones add nothing that we use
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # the same on every architecture
_VERSION = 1
_PATH_BENEATH = 1
_TCP_BIND_AND_CONNECT = 0b11
_ABSTRACT_SOCKETS_AND_SIGNALS = 0b11


class FileAccess(IntFlag):
    EXECUTE = 1 << 0
    WRITE_FILE = 1 << 1
    READ_FILE = 1 << 2
    READ_DIR = 1 << 3
    REMOVE_DIR = 1 << 4
    REMOVE_FILE = 1 << 5
    MAKE_CHAR = 1 << 6
    MAKE_DIR = 1 << 7
    MAKE_REG = 1 << 8
    MAKE_SOCK = 1 << 9
    MAKE_FIFO = 1 << 10
    MAKE_BLOCK = 1 << 11
    MAKE_SYM = 1 << 12
    REFER = 1 << 13  # ABI 2; before it, moving between folders is always denied
    TRUNCATE = 1 << 14  # ABI 3
    IOCTL_DEV = 1 << 15  # ABI 5

    @classmethod
    def access_known_to(cls, abi: int) -> FileAccess:
        since = {2: cls.REFER, 3: cls.TRUNCATE, 5: cls.IOCTL_DEV}
        known = cls((1 << 13) - 1)
        for first, right in since.items():
            known |= right if abi >= first else cls(0)
        return known


READ = FileAccess.READ_FILE | FileAccess.READ_DIR
WRITE = (
    READ | FileAccess.WRITE_FILE | FileAccess.TRUNCATE | FileAccess.REFER
    | FileAccess.REMOVE_DIR | FileAccess.REMOVE_FILE | FileAccess.MAKE_DIR | FileAccess.MAKE_REG
    | FileAccess.MAKE_FIFO | FileAccess.MAKE_SYM
)  # fmt: skip
_VALID_FOR_FILES = (
    FileAccess.EXECUTE | FileAccess.WRITE_FILE | FileAccess.READ_FILE | FileAccess.TRUNCATE
    | FileAccess.IOCTL_DEV
)  # fmt: skip

Grant = tuple[str, FileAccess]


def kernel_abi() -> int:
    """0 where the kernel has no Landlock or it is switched off."""
    try:
        return system_call(_CREATE_RULESET, None, 0, _VERSION)
    except OSError:
        return 0


def restrict_this_process(grants: Iterable[Grant], abi: int) -> None:
    """From here on this thread, and all it starts, may do what is granted and nothing else.

    Paths that do not exist are skipped. Restricting again can only remove rights. Raises OSError.
    """
    handled = FileAccess.access_known_to(abi)
    with _ruleset(handled, abi) as ruleset:
        for path, access in grants:
            _grant_access(ruleset, path, access & handled)
        system_call(_RESTRICT_SELF, ruleset, 0)


@contextmanager
def _ruleset(handled: FileAccess, abi: int) -> Iterator[int]:
    attributes = struct.pack("=Q", handled)
    attributes += struct.pack("=Q", _TCP_BIND_AND_CONNECT) if abi >= 4 else b""
    attributes += struct.pack("=Q", _ABSTRACT_SOCKETS_AND_SIGNALS) if abi >= 6 else b""
    ruleset = system_call(_CREATE_RULESET, attributes, len(attributes), 0)
    try:
        yield ruleset
    finally:
        os.close(ruleset)


def _grant_access(ruleset: int, path: str, access: FileAccess) -> None:
    try:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    if not stat.S_ISDIR(os.fstat(place).st_mode):
        access &= _VALID_FOR_FILES
    system_call(_ADD_RULE, ruleset, _PATH_BENEATH, struct.pack("=Qi", access, place), 0)
    # A rule refers to an inode, and /proc makes a new inode for each look-up once its cache was
    # dropped: an open descriptor keeps it in the cache.
    if not path.startswith("/proc/"):
        os.close(place)
