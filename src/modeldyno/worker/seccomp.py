"""A filter on system calls, assembled by hand: it closes what Landlock leaves open and no engine
needs.

An allow list (system_calls.py) in classic BPF, as seccomp(2) wants it. Only calls that are decided
by their arguments cost anything: the kernel keeps the others, once allowed, in a bitmap.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
from collections.abc import Iterable, Iterator
from itertools import groupby

from modeldyno.worker import system_calls
from modeldyno.worker.system_calls import FOR_ITSELF, system_call

# Mode of seccomp(2), and a flag: without it, kernels before 5.16 switch off speculative execution
# for filtered processes, which would make every measurement some percent slower.
_SET_MODE_FILTER, _SPECULATION_ALLOWED = 1, 1 << 2
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000
# Offsets in struct seccomp_data; of each argument its lower half, which is all the kernel reads of
# the arguments that are checked here.
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, (16, 24, 32)
_LOAD, _IF_EQUAL, _IF_AT_LEAST, _IF_ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_KEEP_BITS, _SHIFT_RIGHT = 0x54, 0x74
_X32 = 0x40000000  # the same calls under other numbers

_CLONE_THREAD = 0x00010000
_CLONE_PARENT = 0x00008000  # a child that is not ours to wait for
_CLONE_NEW_ANYTHING = 0x7E020080  # namespaces of every kind

_LOCAL, _STREAM, _SEQUENCED_PACKETS, _SOCKET_KIND = 1, 1, 5, 0xF

# prctl(2): taking back its death signal, and sharing a core with other processes, are denied. Of
# options after those of Linux 6.19, only the three with names for numbers are allowed.
_PRCTL_DENIED = (1, 62)
_PRCTL_AFTER_NEWEST, _PRCTL_NAMED = 80, (0x41555856, 0x53564D41, 0x59616D61)

# fcntl(2): descriptors, flags, locks, pipes and seals. Not who gets which signal (F_SETOWN,
# F_SETSIG, F_SETOWN_EX), nor leases and notices, by which one process stops or watches another.
_SET_FLAGS, _SIGNAL_WHEN_READY = 4, 0x2000
_FCNTL_ALLOWED = (0, 1, 2, 3, 5, 6, 7, 9, 36, 37, 38, 1027, 1028, 1030, 1031, 1032, 1033, 1034)

# ioctl(2): is it a terminal, how wide, how much can be read, (non-)blocking, close on exec, copies
# that share blocks. Not FIOSETOWN and SIOCSPGRP (signals), TIOCSTI (typing for the user), or what
# an owner may do to files through a descriptor that only reads (flags, verity, encryption).
_IOCTL_ALLOWED = (
    0x5401, 0x802C542A, 0x540F, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451, 0x40049409, 0x4020940D,
)  # fmt: skip
# A driver's commands are allowed, unless their letter is that of terminals (T), sockets (0x89) or
# file systems (f, v, X, 0x94).
_IOCTL_LETTER, _NOT_OF_DRIVERS = 8, (0x54, 0x89, 0x66, 0x76, 0x58, 0x94)

_PRIORITY_OF_PROCESS, _IO_PRIORITY_OF_PROCESS = 0, 1


# Each architecture's column in system_calls.py, and its number in struct seccomp_data.
_ARCHITECTURES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}


def install(allow_exec: bool, drives_device: bool = False) -> None:
    """Filter this thread, and all it starts, for good. Needs no_new_privs. Raises OSError."""
    name = platform.machine()
    if name not in _ARCHITECTURES:
        raise OSError(errno.ENOSYS, f"no filter was written for {name}")
    code = program(name, os.getpid(), allow_exec, drives_device)
    buffer = ctypes.create_string_buffer(code, len(code))
    pointer = struct.pack("@HP", len(code) // 8, ctypes.addressof(buffer))
    system_call(number_of("seccomp"), _SET_MODE_FILTER, _SPECULATION_ALLOWED, pointer)


def number_of(name: str) -> int:
    """A system call's number on this machine; -1 where it has none."""
    column, _ = _ARCHITECTURES.get(platform.machine(), (None, 0))
    return -1 if column is None else system_calls.ALL[name][column]


def program(machine: str, pid: int, allow_exec: bool, drives_device: bool) -> bytes:
    """The filter of a worker with this process number."""
    column, audit = _ARCHITECTURES[machine]
    rules = _argument_rules(pid, allow_exec, drives_device)
    parts = [
        _load_instruction(_ARCHITECTURE),
        *_unless(_IF_EQUAL, audit, _deny()),
        _load_instruction(_NUMBER),
    ]
    parts += _when(_IF_AT_LEAST, _X32, _deny())
    for name, rule in rules.items():
        parts += _when(_IF_EQUAL, system_calls.ALL[name][column], rule)
    answers = _answers_by_call(column, allow_exec, drives_device)
    (_, lowest), *others = _merge_equal_answers(answers)
    for first, answer in reversed(others):
        parts += _when(_IF_AT_LEAST, first, answer)
    return b"".join([*parts, lowest])


def _answers_by_call(column: int, allow_exec: bool, drives_device: bool) -> dict[int, bytes]:
    """What each number is answered with, whatever its arguments."""
    by_list = (
        (system_calls.ALLOWED, _allow()),
        (system_calls.STARTS_PROGRAMS, _allow() if allow_exec else _deny()),
        (system_calls.LISTENS, _allow() if drives_device else _deny()),
        (system_calls.DENIED, _deny()),
        (system_calls.UNSUPPORTED, _deny(errno.ENOTSUP)),
        (system_calls.ABSENT, _deny(errno.ENOSYS)),
    )
    return {
        numbers[column]: answer
        for calls, answer in by_list
        for numbers in calls.values()
        if numbers[column] >= 0
    }


def _merge_equal_answers(answers: dict[int, bytes]) -> Iterator[tuple[int, bytes]]:
    """Where each run of numbers with the same answer begins."""
    unknown = _deny(errno.ENOSYS)
    numbers = range(max(answers) + 2)
    for answer, run in groupby(numbers, lambda number: answers.get(number, unknown)):
        yield next(run), answer


# ---------------------------------------------------------------- decided by arguments


def _argument_rules(pid: int, allow_exec: bool, drives_device: bool) -> dict[str, bytes]:
    return {name: _allow_only_itself(0, pid) for name in FOR_ITSELF} | {
        "clone": _clone_rules(allow_exec),
        "prctl": _prctl_rules(),
        "fcntl": _fcntl_rules(),
        "ioctl": _ioctl_rules(drives_device),
        "socket": _allow_local_sockets(_SEQUENCED_PACKETS) if drives_device else _deny(),
        "socketpair": _allow_local_sockets(_STREAM, _SEQUENCED_PACKETS),
        "setpriority": _allow_own_priority(_PRIORITY_OF_PROCESS, pid),
        "ioprio_set": _allow_own_priority(_IO_PRIORITY_OF_PROCESS, pid),
    }


def _clone_rules(allow_exec: bool) -> bytes:
    """Threads, yes; namespaces, no; processes, only where programs may be started."""
    denied = _CLONE_NEW_ANYTHING | _CLONE_PARENT
    processes = b"" if allow_exec else b"".join(_unless(_IF_ANY_BIT, _CLONE_THREAD, _deny()))
    return _load_argument(0) + b"".join(_when(_IF_ANY_BIT, denied, _deny())) + processes + _allow()


def _prctl_rules() -> bytes:
    unknown = b"".join(_when(_IF_AT_LEAST, _PRCTL_AFTER_NEWEST, _deny(errno.EINVAL)))
    named = _when_any_of(_PRCTL_NAMED, _allow())
    return _load_argument(0) + _when_any_of(_PRCTL_DENIED, _deny()) + named + unknown + _allow()


def _fcntl_rules() -> bytes:
    signals = (
        _load_argument(2) + b"".join(_when(_IF_ANY_BIT, _SIGNAL_WHEN_READY, _deny())) + _allow()
    )
    flags = b"".join(_when(_IF_EQUAL, _SET_FLAGS, signals))
    return _load_argument(1) + flags + _when_any_of(_FCNTL_ALLOWED, _allow()) + _deny()


def _ioctl_rules(drives_device: bool) -> bytes:
    known = _load_argument(1) + _when_any_of(_IOCTL_ALLOWED, _allow())
    if not drives_device:
        return known + _deny()
    letter = _instruction(_SHIFT_RIGHT, _IOCTL_LETTER) + _instruction(_KEEP_BITS, 0xFF)
    return known + letter + _when_any_of(_NOT_OF_DRIVERS, _deny()) + _allow()


def _allow_local_sockets(*kinds: int) -> bytes:
    """Of this machine and connected, never of datagrams: those can be sent to any address, also
    through one end of a pair. The kind shares a word with flags."""
    local = _load_argument(0) + b"".join(_unless(_IF_EQUAL, _LOCAL, _deny()))
    kind = _load_argument(1) + _instruction(_KEEP_BITS, _SOCKET_KIND)
    return local + kind + _when_any_of(kinds, _allow()) + _deny()


def _allow_own_priority(of_a_process: int, pid: int) -> bytes:
    """Of one process, not of a group or of all that a user runs; and that process is itself."""
    return (
        _load_argument(0)
        + b"".join(_unless(_IF_EQUAL, of_a_process, _deny()))
        + _allow_only_itself(1, pid)
    )


def _allow_only_itself(argument: int, pid: int) -> bytes:
    return _load_argument(argument) + _when_any_of((0, pid), _allow()) + _deny()


# ---------------------------------------------------------------- instructions


def _instruction(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, value)


def _load_instruction(offset: int) -> bytes:
    return _instruction(_LOAD, offset)


def _load_argument(number: int) -> bytes:
    return _load_instruction(_ARGUMENTS[number])


def _allow() -> bytes:
    return _instruction(_RETURN, _ALLOW)


def _deny(number: int = errno.EPERM) -> bytes:
    return _instruction(_RETURN, _ERRNO | number)


def _when_any_of(values: Iterable[int], then: bytes) -> bytes:
    return b"".join(part for value in values for part in _when(_IF_EQUAL, value, then))


def _when(test: int, value: int, then: bytes) -> Iterator[bytes]:
    yield _instruction(test, value, if_false=len(then) // 8)
    yield then


def _unless(test: int, value: int, then: bytes) -> Iterator[bytes]:
    yield _instruction(test, value, if_true=len(then) // 8)
    yield then
