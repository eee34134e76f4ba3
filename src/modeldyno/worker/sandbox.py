"""Confine this process for good, before any engine is imported. Standard library only.

Limits first, then an empty network, no capabilities, files (Landlock) and system calls (seccomp).
Then it tries what must now be refused: the report says what actually holds on this system and for
this user. See docs/decisions/0007-sandbox.md.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import struct
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from modeldyno.core.sessions import SandboxReport, SandboxSpec
from modeldyno.worker import landlock, seccomp
from modeldyno.worker.landlock import READ, WRITE, FileAccess, Grant
from modeldyno.worker.limits import limit_address_space
from modeldyno.worker.system_calls import check_status, load_libc, prctl, system_call

_NO_NEW_PRIVILEGES = 38
_NEW_USER, _NEW_NETWORK, _NEW_IPC = 0x10000000, 0x40000000, 0x08000000
_CAPABILITIES_VERSION = 0x20080522
_READ_ANY_FILE = 0b110  # CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH

_SYSTEM_LIBRARIES = (
    "/lib", "/lib32", "/lib64", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/local/lib",
    "/nix/store", "/gnu/store", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d",
    "/etc/ld.so.preload", "/etc/localtime", "/usr/share/zoneinfo",
)  # fmt: skip
_SYSTEM_FACTS = (
    "/proc/self", "/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/loadavg",
    "/proc/filesystems", "/proc/sys/vm/overcommit_memory", "/sys/devices/system/cpu",
    "/sys/devices/system/node", "/sys/kernel/mm/transparent_hugepage",
)  # fmt: skip
_SYSTEM_FACTS_OF_DEVICES = (
    "/proc/driver",
    "/proc/modules",
    "/sys/bus",
    "/sys/devices",
    "/sys/class",
)
_HARMLESS_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
_PROGRAMS = ("/bin", "/sbin", "/usr", "/usr/local/bin", "/etc/alternatives")


def enter(spec: SandboxSpec, landlock_abi: int | None = None) -> SandboxReport:
    """Confine this process as far as the system allows; the report says how far that is.

    ``landlock_abi`` pretends an older kernel.
    """
    limit_address_space(spec.memory_limit_bytes)
    if not spec.enabled:
        return SandboxReport("none", ("switched off",))
    if sys.platform != "linux":
        return SandboxReport("none", (f"{sys.platform} has none that we know",))
    abi = landlock.kernel_abi() if landlock_abi is None else landlock_abi
    drives_device = bool(spec.devices)
    prctl(_NO_NEW_PRIVILEGES)
    no_network = _reason_missing(_enter_empty_namespaces)
    kept_rights = _reason_missing(_drop_capabilities_but_reading)
    no_landlock = _reason_missing(lambda: _restrict(spec, abi)) if abi else "the kernel has none"
    no_seccomp = _reason_missing(lambda: seccomp.install(spec.allow_exec, drives_device))
    leaks = () if no_seccomp else tuple(unblocked_calls(spec.allow_exec))
    return sandbox_report(
        0 if no_landlock else abi,
        no_landlock,
        no_network,
        no_seccomp,
        listens=drives_device,
        kept_rights=kept_rights,
        leaks=leaks,
    )


def close_inspection(spec: SandboxSpec, report: SandboxReport) -> None:
    """Withdraw access to the folders of the user's own files, before an engine is loaded."""
    if report.landlock_abi and spec.inspectable:
        landlock.restrict_this_process(
            _list_grants(spec, inspecting=False), _usable_abi(report.landlock_abi)
        )


def sandbox_report(
    abi: int,
    no_landlock: str | None,
    no_network: str | None,
    no_seccomp: str | None,
    *,
    listens: bool = False,
    kept_rights: str | None = None,
    leaks: tuple[str, ...] = (),
) -> SandboxReport:
    """What remains open, given the Landlock ABI and why each layer is missing (None: in place).

    Layers overlap: the filter denies every socket, so nothing is open without a network namespace,
    or with a Landlock that knows no TCP. A worker that drives a device ``listens``: the filter
    allows it local sockets, which only the namespace isolates. ``leaks`` are things that the filter
    should have refused and did not.
    """
    missing = []
    if no_network and listens and not no_seccomp:
        missing.append(f"no network namespace: {no_network}, so it can listen on local sockets")
    if kept_rights:
        missing.append(f"capabilities kept: {kept_rights}, so it can use rights of root")
    if no_landlock:
        missing.append(f"no landlock: {no_landlock}, so it can read and write your files")
    missing += [f"the system-call filter has a hole: it can {leak}" for leak in leaks]
    if no_seccomp:
        missing.append(
            f"no seccomp: {no_seccomp}, so it can start programs, use local sockets, watch your "
            "files and slow down your processes"
        )
        if no_network:
            missing.append(
                f"no network namespace: {no_network}, so it can use the network and the message "
                "queues, semaphores and memory that your processes share"
            )
        if 0 < abi < 3:
            missing.append(f"landlock {abi} of 3: it can truncate your files")
        if 0 < abi < 6:
            missing.append(f"landlock {abi} of 6: it can signal your processes")
    layers = (
        ("landlock", no_landlock), ("network namespace", no_network), ("seccomp", no_seccomp)
    )  # fmt: skip
    there = tuple(name for name, why_not in layers if why_not is None)
    if not missing:
        return SandboxReport("full", (), there, abi)
    return SandboxReport("partial" if there else "none", tuple(missing), there, abi)


def unblocked_calls(allow_exec: bool) -> Iterator[str]:
    """Tries everything that the filter must refuse, and names what succeeds.

    Each attempt is harmless: it changes nothing, or its arguments are invalid.
    """
    for what, attempt in _list_forbidden_attempts(allow_exec):
        try:
            attempt()
        except OSError as error:
            if error.errno not in _REFUSED:
                yield what
        else:
            yield what


# ---------------------------------------------------------------- layers


def _reason_missing(layer: Callable[[], None]) -> str | None:
    """Why a layer is not available; None if it is in place."""
    try:
        layer()
    except OSError as error:
        return (error.strerror or str(error)).lower()
    return None


def _enter_empty_namespaces() -> None:
    """Enter empty namespaces: no network, not even a loopback that is up, and no message queues,
    semaphores or shared memory.

    Only root may create them directly; others need a user namespace around them, in which they keep
    their own user and group number.
    """
    user, group = os.geteuid(), os.getegid()
    before = _deny_network()
    try:
        _unshare(0)
    except OSError:
        _unshare(_NEW_USER)
        with contextlib.suppress(OSError):  # cosmetic: without it, files seem to belong to nobody
            Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
            Path("/proc/self/setgroups").write_text("deny")
            Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
    if before and before == _deny_network():
        raise OSError(errno.ENOSYS, "it took no effect")


def _unshare(flags: int) -> None:
    """A kernel may have no IPC namespaces; then the filter alone denies what they would hide."""
    try:
        check_status(load_libc().unshare(flags | _NEW_NETWORK | _NEW_IPC))
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
        check_status(load_libc().unshare(flags | _NEW_NETWORK))


def _deny_network() -> str:
    with contextlib.suppress(OSError):
        return str(Path("/proc/self/ns/net").readlink())
    return ""


def _drop_capabilities_but_reading() -> None:
    """All but those that let root read other users' files: Landlock decides about those."""
    kept = _READ_ANY_FILE if os.geteuid() == 0 else 0
    header = struct.pack("=Ii", _CAPABILITIES_VERSION, 0)
    effective, permitted, _ = _read_capabilities()
    wanted = (kept & effective, kept & permitted, 0)
    check_status(load_libc().capset(header, struct.pack("=6I", *wanted, 0, 0, 0)))
    if any(each & ~kept for each in _read_capabilities()):
        raise OSError(errno.EPERM, "the kernel did not take them")


def _read_capabilities() -> tuple[int, int, int]:
    """Effective, permitted and inheritable ones."""
    header = struct.pack("=Ii", _CAPABILITIES_VERSION, 0)
    data = ctypes.create_string_buffer(24)
    check_status(load_libc().capget(header, data))
    low, high = struct.unpack("=3I", data.raw[:12]), struct.unpack("=3I", data.raw[12:])
    effective, permitted, inheritable = (a | b << 32 for a, b in zip(low, high, strict=True))
    return effective, permitted, inheritable


def _restrict(spec: SandboxSpec, abi: int) -> None:
    landlock.restrict_this_process(_list_grants(spec, inspecting=True), _usable_abi(abi))
    with contextlib.suppress(PermissionError):
        os.scandir("/").close()
        raise OSError(errno.ENOSYS, "it took no effect")


def _usable_abi(abi: int) -> int:
    return min(abi, landlock.NEWEST_ABI)


def _list_grants(spec: SandboxSpec, inspecting: bool) -> Iterator[Grant]:
    execute = FileAccess.EXECUTE if spec.allow_exec else FileAccess(0)
    for path in (
        *_list_python_folders(),
        *_SYSTEM_LIBRARIES,
        *(_PROGRAMS if spec.allow_exec else ()),
    ):
        yield path, READ | execute
    for path in (*_SYSTEM_FACTS, *(_SYSTEM_FACTS_OF_DEVICES if spec.devices else ())):
        yield path, READ
    # Resets the peak of memory; opening it to write also truncates.
    yield "/proc/self/clear_refs", FileAccess.WRITE_FILE | FileAccess.TRUNCATE
    for path in _HARMLESS_DEVICES:
        yield path, FileAccess.READ_FILE | FileAccess.WRITE_FILE
    for path in spec.devices:
        yield path, READ | FileAccess.WRITE_FILE | FileAccess.IOCTL_DEV
    if spec.devices:  # CUDA gives its threads names, and fails where it cannot
        yield "/proc/self/task", READ | FileAccess.WRITE_FILE | FileAccess.TRUNCATE
    for path in spec.readable:
        yield path, READ
    for path in spec.inspectable if inspecting else ():
        yield path, FileAccess.READ_FILE
    yield spec.scratch, WRITE | execute


def _list_python_folders() -> list[str]:
    """The interpreter, its packages, and the libraries that the user's environment names."""
    prefixes = (sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix)
    libraries = os.environ.get("LD_LIBRARY_PATH", "").split(":")
    return [path for path in dict.fromkeys((*prefixes, *sys.path, *libraries)) if path]


# ---------------------------------------------------------------- what must be refused

_REFUSED = (errno.EPERM, errno.EACCES, errno.ENOSYS)
_SET_OWNER, _SET_OWNER_BY_IOCTL = 8, 0x8901


def _list_forbidden_attempts(allow_exec: bool) -> Iterator[tuple[str, Callable[[], object]]]:
    parent = os.getppid()
    if parent:  # 0: it is outside of our PID namespace, so it cannot be reached
        yield "signal your processes", lambda: os.kill(parent, 0)
        yield "change priorities", lambda: os.setpriority(0, parent, os.getpriority(0, parent))
        yield (
            "move your processes",
            lambda: os.sched_setaffinity(parent, os.sched_getaffinity(parent)),
        )
        yield "limit your processes", lambda: _call_system("prlimit64", parent, 0, None, None)
    yield "signal your processes by fcntl", lambda: _call_on_pipe("fcntl", _SET_OWNER)
    yield "signal your processes by ioctl", lambda: _call_on_pipe("ioctl", _SET_OWNER_BY_IOCTL)
    yield "open sockets", lambda: os.close(_call_system("socket", 2, 1, 0))
    yield "share memory by key", lambda: _call_system("shmget", 0, 0, 0)
    yield "use semaphores", lambda: _call_system("semop", -1, None, 0)
    yield "use message queues", lambda: _call_system("msgsnd", -1, None, 0, 0)
    yield "remove message queues", lambda: _call_system("mq_unlink", None)
    yield "watch files", lambda: os.close(_call_system("inotify_init1", 0))
    yield "change files' modes", lambda: _call_system("fchmodat", -1, None, 0)
    yield "mount file systems", lambda: _call_system("open_tree", -1, None, 0)
    yield "trace your processes", lambda: _call_system("ptrace", 0x4206, -1, None, None)
    yield "use io_uring", lambda: _call_system("io_uring_setup", 0, None)
    if not allow_exec:
        yield "start programs", lambda: _call_system("execve", None, None, None)


def _call_on_pipe(call: str, command: int) -> None:
    """Have nobody signalled about a new pipe."""
    ends = os.pipe()
    nobody = ctypes.c_int(0)
    try:
        _call_system(call, ends[0], command, ctypes.byref(nobody) if call == "ioctl" else 0)
    finally:
        for end in ends:
            os.close(end)


def _call_system(name: str, *arguments: object) -> int:
    return system_call(seccomp.number_of(name), *arguments)
