"""The system-call filter decides every call as its reviewed table says, on both architectures."""

import errno
import platform
import re
import struct
from pathlib import Path

import pytest

from modeldyno.worker import seccomp, system_calls

PID, SOMEBODY = 4321, 1234
ALLOW, REFUSE = 0x7FFF0000, 0x00050000
AUDIT = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
MACHINES = tuple(AUDIT)
NEWEST = 470  # listns, of Linux 6.19
# Calls that a timed loop may make: their arguments must not be looked at.
HOT = (
    "read", "write", "futex", "mmap", "munmap", "madvise", "sched_yield", "clock_gettime", "brk",
    "mprotect", "poll", "ppoll", "epoll_wait", "epoll_pwait", "nanosleep", "clock_nanosleep",
    "getrusage", "sched_getaffinity", "gettid", "getpid", "rseq", "membarrier", "eventfd2",
)  # fmt: skip


def decided(call, *arguments, machine="x86_64", audit=None, allow_exec=False, drives_device=False):
    """What the kernel would do: None to allow, or the error; and whether it read an argument."""
    number = call if isinstance(call, int) else numbers()[call][MACHINES.index(machine)]
    padded = (*arguments, *(0,) * (6 - len(arguments)))
    data = struct.pack(
        "=iIQ6Q", number, audit or AUDIT[machine], 0, *(a % (1 << 64) for a in padded)
    )
    program = seccomp.program(machine, PID, allow_exec, drives_device)
    instructions = list(struct.iter_unpack("=HBBI", program))
    assert len(instructions) <= 4096
    here, value, looked = 0, 0, False
    while True:
        code, if_true, if_false, operand = instructions[here]
        here += 1
        match code:
            case 0x20:
                (value,) = struct.unpack_from("=I", data, operand)
                looked = looked or operand >= 16
            case 0x54:
                value &= operand
            case 0x74:
                value >>= operand
            case 0x15 | 0x35 | 0x45:
                tests = {0x15: value == operand, 0x35: value >= operand, 0x45: value & operand}
                here += if_true if tests[code] else if_false
            case 0x06:
                return (None if operand == ALLOW else operand - REFUSE), looked
            case _:
                raise AssertionError(f"instruction {code:#x}")


def answer(call, *arguments, **setting):
    return decided(call, *arguments, **setting)[0]


def numbers():
    return system_calls.ALL


# ---------------------------------------------------------------- every call is reviewed


@pytest.mark.parametrize("column", [0, 1], ids=MACHINES)
def test_no_number_is_reviewed_twice_and_none_is_left_out(column):
    """x86_64 leaves a gap before 424, where all architectures began to count alike."""
    lists = ("ALLOWED", "FOR_ITSELF", "CHECKED", "STARTS_PROGRAMS", "LISTENS", "DENIED",
             "UNSUPPORTED", "ABSENT")  # fmt: skip
    each = [of[column] for name in lists for of in getattr(system_calls, name).values()]
    found = sorted(number for number in each if number >= 0)
    gaps = [(337, 423)] if column == 0 else [(244, 259), (295, 423)]
    missing = {number for first, last in gaps for number in range(first, last + 1)}
    assert found == [number for number in range(NEWEST + 1) if number not in missing]


def test_headers_of_this_system_hold_no_call_that_was_not_reviewed():
    """Those of x86_64 name every call; the generic ones are aarch64's."""
    found = 0
    for header in Path("/usr/include").rglob("unistd_64.h"):
        for name, number in re.findall(r"#define __NR_(\w+)\s+(\d+)$", header.read_text(), re.M):
            assert numbers()[name][0] == int(number), name
            found += 1
    generic = Path("/usr/include/asm-generic/unistd.h")
    for name, number in _generic(generic.read_text() if generic.exists() else ""):
        assert numbers()[name][1] == number, name
        found += 1
    if not found:
        pytest.skip("this system has no kernel headers")


def _generic(text):
    """Without what is for 32 bits alone."""
    odd = ("arch_specific_syscall", "syscalls", "sync_file_range2")
    for name, number in re.findall(r"^#define __NR_(\w+)\s+(\d+)$", text, re.M):
        if name not in odd and not name.endswith("time64"):
            yield name, int(number)


# ---------------------------------------------------------------- the filter does what it says


@pytest.mark.parametrize("machine", MACHINES)
def test_each_call_is_answered_as_reviewed(machine):
    expected = {
        "ALLOWED": None, "DENIED": errno.EPERM, "STARTS_PROGRAMS": errno.EPERM,
        "LISTENS": errno.EPERM, "UNSUPPORTED": errno.ENOTSUP, "ABSENT": errno.ENOSYS,
    }  # fmt: skip
    for name, wanted in expected.items():
        for call, of in getattr(system_calls, name).items():
            if of[MACHINES.index(machine)] >= 0:
                assert answer(call, SOMEBODY, machine=machine) == wanted, call


@pytest.mark.parametrize("machine", MACHINES)
def test_an_unreviewed_system_call_does_not_exist(machine):
    for number in (NEWEST + 1, 1000, 0x3FFFFFFF, 400):
        assert answer(number, machine=machine) == errno.ENOSYS


def test_calls_of_another_architecture_are_refused():
    assert answer("read", audit=0x40000003) == errno.EPERM  # 32 bits
    assert answer(0x40000000 | 1) == errno.EPERM  # x32


@pytest.mark.parametrize("machine", MACHINES)
def test_hot_calls_are_decided_by_their_number_alone(machine):
    """The kernel then keeps the decision, and the filter costs nothing."""
    for call in HOT:
        if numbers()[call][MACHINES.index(machine)] >= 0:
            assert decided(call, machine=machine) == (None, False), call


@pytest.mark.parametrize("call", system_calls.FOR_ITSELF)
def test_a_worker_acts_on_itself_alone(call):
    assert [answer(call, who) for who in (0, PID)] == [None, None]
    assert [answer(call, who) for who in (SOMEBODY, -1, -PID, 1)] == [errno.EPERM] * 4
    # The kernel reads 32 bits of the number, so the rest cannot hide another one.
    assert answer(call, SOMEBODY | 7 << 32) == errno.EPERM


@pytest.mark.parametrize(("call", "process"), [("setpriority", 0), ("ioprio_set", 1)])
def test_priorities_are_changed_of_itself_alone(call, process):
    assert [answer(call, process, who) for who in (0, PID)] == [None, None]
    assert answer(call, process, SOMEBODY) == errno.EPERM
    for group_or_user in (process + 1, process + 2):
        assert answer(call, group_or_user, 0) == errno.EPERM


F_SETOWN, F_SETSIG, F_SETOWN_EX, F_SETLEASE, F_NOTIFY = 8, 10, 15, 1024, 1026


@pytest.mark.parametrize("command", [F_SETOWN, F_SETSIG, F_SETOWN_EX, F_SETLEASE, F_NOTIFY, 9999])
def test_descriptors_send_no_signals_and_stop_no_process(command):
    for high in (0, 1 << 32):  # bits that the kernel does not read
        assert answer("fcntl", 3, command | high) == errno.EPERM


def test_descriptors_work_as_usual():
    set_flags, nonblocking, asynchronous = 4, 0o4000, 0o20000
    for command in (0, 1, 2, 3, 5, 6, 7, 37, 1030, 1031, 1033, 1034):
        assert answer("fcntl", 3, command) is None
    assert answer("fcntl", 3, set_flags, nonblocking) is None
    assert answer("fcntl", 3, set_flags, nonblocking | asynchronous) == errno.EPERM


FIOSETOWN, SIOCSPGRP, FIOASYNC, TIOCSTI, TIOCLINUX = 0x8901, 0x8902, 0x5452, 0x5412, 0x541C
FS_IOC_SETFLAGS, FS_IOC_ENABLE_VERITY, FS_IOC_FSSETXATTR = 0x40086602, 0x40806685, 0x401C5820
NVIDIA, UVM_INITIALIZE, UVM_SMALL, DRM = 0xC020462A, 0x30000001, 27, 0xC0106407


@pytest.mark.parametrize("drives_device", [False, True])
@pytest.mark.parametrize(
    "command",
    [FIOSETOWN, SIOCSPGRP, FIOASYNC, TIOCSTI, TIOCLINUX, FS_IOC_SETFLAGS, FS_IOC_ENABLE_VERITY,
     FS_IOC_FSSETXATTR],
)  # fmt: skip
def test_no_command_signals_types_or_marks_files(command, drives_device):
    for high in (0, 1 << 32):
        assert answer("ioctl", 3, command | high, drives_device=drives_device) == errno.EPERM


def test_only_a_worker_with_a_device_speaks_to_drivers():
    for command in (NVIDIA, UVM_INITIALIZE, UVM_SMALL, DRM):
        assert answer("ioctl", 3, command, drives_device=True) is None
        assert answer("ioctl", 3, command) == errno.EPERM
    terminal, is_wide, close_on_exec = 0x5401, 0x5413, 0x5451
    for command in (terminal, is_wide, close_on_exec):
        assert answer("ioctl", 3, command) is None


def test_sockets_come_in_connected_pairs():
    local, internet, stream, datagram, packets, flags = 1, 2, 1, 2, 5, 0o2004000
    for kind in (stream, packets, stream | flags):
        assert answer("socketpair", local, kind) is None
        assert answer("socketpair", internet, kind) == errno.EPERM
    assert answer("socketpair", local, datagram | flags) == errno.EPERM
    assert answer("socket", local, packets) == errno.EPERM
    assert answer("socket", local, packets | flags, drives_device=True) is None
    for family, kind in ((local, stream), (local, datagram), (internet, packets)):
        assert answer("socket", family, kind, drives_device=True) == errno.EPERM
    assert answer("bind", 3, drives_device=True) is None
    assert answer("connect", 3, drives_device=True) == errno.EPERM


def test_threads_may_start_and_processes_only_for_a_compiler():
    thread, process, parent, namespace = 0x3D0F00, 17, 0x8000, 0x10000000
    assert answer("clone", thread) is None
    assert answer("clone", process) == errno.EPERM
    assert answer("clone", process, allow_exec=True) is None
    for flags in (parent, namespace):
        for allow_exec in (False, True):
            assert answer("clone", thread | flags, allow_exec=allow_exec) == errno.EPERM
    for call in system_calls.STARTS_PROGRAMS:
        assert answer(call, allow_exec=True) is None


def test_a_process_keeps_its_death_signal_and_its_core():
    death_signal, name, core, after_newest, memory_name = 1, 15, 62, 100, 0x53564D41
    assert [answer("prctl", option) for option in (name, memory_name)] == [None, None]
    assert [answer("prctl", option) for option in (death_signal, core)] == [errno.EPERM] * 2
    assert answer("prctl", after_newest) == errno.EINVAL


@pytest.mark.skipif(platform.machine() not in MACHINES, reason="no filter for this machine")
def test_numbers_are_those_of_this_machine():
    assert seccomp.number_of("listns") == NEWEST
    assert seccomp.number_of("read") == (0 if platform.machine() == "x86_64" else 63)
