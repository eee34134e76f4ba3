"""A filter on system calls, assembled by hand: what Landlock leaves open, and no engine needs.

Everything is allowed but what is named here. Classic BPF, as seccomp(2) wants it.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
from collections.abc import Iterator
from dataclasses import dataclass

# Mode of seccomp(2), and a flag: without it, kernels before 5.16 switch off speculative execution
# for filtered processes, which would make every measurement some percent slower.
_SET_MODE_FILTER, _SPECULATION_ALLOWED = 1, 1 << 2
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000
# Offsets in struct seccomp_data.
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT, _SECOND_ARGUMENT = 0, 4, 16, 24
_LOAD, _IF_EQUAL, _IF_AT_LEAST, _IF_ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_KEEP_BITS = 0x54
_X32 = 0x40000000  # the same calls again, under other numbers
_CLONE_THREAD = 0x00010000
_CLONE_NEW_ANYTHING = 0x7E020080  # namespaces of every kind
_SET_PARENT_DEATH_SIGNAL = 1
_LOCAL, _SEQUENCED_PACKETS, _SOCKET_KIND = 1, 5, 0xF

# Name: number on x86_64, number on aarch64 (-1: it has no such call).
DENIED = {
    # other processes
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271),
    "pidfd_open": (434, 434), "pidfd_getfd": (438, 438), "pidfd_send_signal": (424, 424),
    "kcmp": (312, 272), "tkill": (200, 130),
    # sockets of every kind, local ones too: Landlock does not see who connects to docker.sock
    "socket": (41, 198),
    "shmget": (29, 194), "shmat": (30, 196), "semget": (64, 190), "msgget": (68, 186),
    "mq_open": (240, 180),
    # a second way to make most system calls, which no filter sees
    "io_uring_setup": (425, 425), "io_uring_enter": (426, 426), "io_uring_register": (427, 427),
    # what files are, beside their content: Landlock does not see these either
    "truncate": (76, 45), "chmod": (90, -1), "fchmod": (91, 52), "fchmodat": (268, 53),
    "fchmodat2": (452, 452), "chown": (92, -1), "fchown": (93, 55), "lchown": (94, -1),
    "fchownat": (260, 54), "setxattr": (188, 5), "lsetxattr": (189, 6), "fsetxattr": (190, 7),
    "removexattr": (197, 14), "lremovexattr": (198, 15), "fremovexattr": (199, 16),
    "setxattrat": (463, 463), "removexattrat": (466, 466), "utime": (132, -1),
    "utimes": (235, -1), "futimesat": (261, -1), "utimensat": (280, 88),
    # the system
    "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41), "chroot": (161, 51),
    "move_mount": (429, 429), "open_tree": (428, 428), "fsopen": (430, 430),
    "fsconfig": (431, 431), "fsmount": (432, 432), "fspick": (433, 433),
    "mount_setattr": (442, 442), "unshare": (272, 97), "setns": (308, 268),
    "name_to_handle_at": (303, 264), "open_by_handle_at": (304, 265),
    "keyctl": (250, 219), "add_key": (248, 217), "request_key": (249, 218),
    "bpf": (321, 280), "userfaultfd": (323, 282), "perf_event_open": (298, 241),
    "kexec_load": (246, 104), "kexec_file_load": (320, 294), "init_module": (175, 105),
    "finit_module": (313, 273), "delete_module": (176, 106), "swapon": (167, 224),
    "swapoff": (168, 225), "reboot": (169, 142), "acct": (163, 89),
}  # fmt: skip
_STARTS_A_PROGRAM = {
    "execve": (59, 221), "execveat": (322, 281), "fork": (57, -1), "vfork": (58, -1),
}  # fmt: skip
# CUDA opens a local socket of its own when it starts, and fails without. With a driver to talk to,
# a worker may make sockets of that one kind, and connect none of them to anybody.
_SOCKET, _CONNECT = DENIED["socket"], (42, 203)
# Their first argument is a process: nobody, itself, or none of its business.
_FOR_ITSELF_ONLY = {
    "kill": (62, 129), "tgkill": (234, 131), "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240), "prlimit64": (302, 261),
}  # fmt: skip


@dataclass(frozen=True)
class _Machine:
    column: int
    audit: int
    clone: int
    clone3: int
    prctl: int
    seccomp: int


_MACHINES = {
    "x86_64": _Machine(0, 0xC000003E, 56, 435, 157, 317),
    "aarch64": _Machine(1, 0xC00000B7, 220, 435, 167, 277),
}


def install(allow_exec: bool, drives_device: bool = False) -> None:
    """Filter this thread, and all it starts, for good. Needs no_new_privs. Raises OSError."""
    machine = _MACHINES.get(platform.machine())
    if machine is None:
        raise OSError(errno.ENOSYS, f"no filter was written for {platform.machine()}")
    program = b"".join(_program(machine, allow_exec, drives_device))
    held = ctypes.create_string_buffer(program, len(program))
    pointer = struct.pack("@HP", len(program) // 8, ctypes.addressof(held))
    libc = ctypes.CDLL(None, use_errno=True)
    flags = ctypes.c_ulong(_SPECULATION_ALLOWED)
    if libc.syscall(ctypes.c_long(machine.seccomp), _SET_MODE_FILTER, flags, pointer) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def _program(machine: _Machine, allow_exec: bool, drives_device: bool) -> Iterator[bytes]:
    denied = DENIED if allow_exec else DENIED | _STARTS_A_PROGRAM
    if drives_device:
        denied = denied | {"socket": (-1, -1), "connect": _CONNECT}
    yield _load(_ARCHITECTURE)
    yield from _unless(_IF_EQUAL, machine.audit, _deny())
    yield _load(_NUMBER)
    yield from _when(_IF_AT_LEAST, _X32, _deny())
    for numbers in denied.values():
        if numbers[machine.column] >= 0:
            yield from _when(_IF_EQUAL, numbers[machine.column], _deny())
    if drives_device:
        yield from _when(_IF_EQUAL, _SOCKET[machine.column], _local_packets())
    # Its flags lie in memory, where no filter can look; the C library falls back on clone.
    yield from _when(_IF_EQUAL, machine.clone3, _deny(errno.ENOSYS))
    yield from _when(_IF_EQUAL, machine.clone, _clone(allow_exec))
    death_signal = b"".join(_when(_IF_EQUAL, _SET_PARENT_DEATH_SIGNAL, _deny()))
    yield from _when(_IF_EQUAL, machine.prctl, _load(_FIRST_ARGUMENT) + death_signal + _allow())
    for numbers in _FOR_ITSELF_ONLY.values():
        yield from _when(_IF_EQUAL, numbers[machine.column], _itself(os.getpid()))
    yield _allow()


def _clone(allow_exec: bool) -> bytes:
    """Threads, yes; namespaces, no; processes, only where programs may be started."""
    namespaces = b"".join(_when(_IF_ANY_BIT, _CLONE_NEW_ANYTHING, _deny()))
    processes = b"" if allow_exec else b"".join(_unless(_IF_ANY_BIT, _CLONE_THREAD, _deny()))
    return _load(_FIRST_ARGUMENT) + namespaces + processes + _allow()


def _local_packets() -> bytes:
    """Sockets of this machine that carry packets in order; their kind shares a word with flags."""
    local = b"".join(_unless(_IF_EQUAL, _LOCAL, _deny()))
    kind = _load(_SECOND_ARGUMENT) + _instruction(_KEEP_BITS, _SOCKET_KIND)
    packets = b"".join(_unless(_IF_EQUAL, _SEQUENCED_PACKETS, _deny()))
    return _load(_FIRST_ARGUMENT) + local + kind + packets + _allow()


def _itself(pid: int) -> bytes:
    mine = (b"".join(_when(_IF_EQUAL, number, _allow())) for number in (0, pid))
    return _load(_FIRST_ARGUMENT) + b"".join(mine) + _deny()


# ---------------------------------------------------------------- instructions


def _instruction(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, value)


def _load(offset: int) -> bytes:
    return _instruction(_LOAD, offset)


def _allow() -> bytes:
    return _instruction(_RETURN, _ALLOW)


def _deny(number: int = errno.EPERM) -> bytes:
    return _instruction(_RETURN, _ERRNO | number)


def _when(test: int, value: int, then: bytes) -> Iterator[bytes]:
    yield _instruction(test, value, if_false=len(then) // 8)
    yield then


def _unless(test: int, value: int, then: bytes) -> Iterator[bytes]:
    yield _instruction(test, value, if_true=len(then) // 8)
    yield then
