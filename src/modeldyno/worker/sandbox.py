"""Confine this process for good, before any engine is imported. Standard library only.

Limits, then an empty network, then no capabilities, then files (Landlock), then system calls
(seccomp). What a system lacks is left out and told; see docs/decisions/0007-sandbox.md.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import struct
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from modeldyno.core.sandbox import SandboxReport, SandboxSpec
from modeldyno.worker import landlock, seccomp
from modeldyno.worker.landlock import READ, WRITE, Access, Grant
from modeldyno.worker.limits import MOST_FILES as MOST_FILES
from modeldyno.worker.limits import limit

_NO_NEW_PRIVILEGES = 38
_NEW_USER, _NEW_NETWORK = 0x10000000, 0x40000000
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
    """Confine this process as far as the system can; the report says how far that is.

    ``landlock_abi`` pretends an older kernel.
    """
    limit(spec.memory_limit_bytes)
    if not spec.enabled:
        return SandboxReport("none", ("switched off",))
    if sys.platform != "linux":
        return SandboxReport("none", (f"{sys.platform} has none that we know",))
    abi = landlock.kernel_abi() if landlock_abi is None else landlock_abi
    _prctl(_NO_NEW_PRIVILEGES)
    no_network = _try(_leave_the_network)
    _try(_drop_capabilities)
    no_landlock = _try(lambda: _restrict(spec, abi)) if abi else "the kernel has none"
    no_seccomp = _try(lambda: seccomp.install(spec.allow_exec, bool(spec.devices)))
    listens = bool(spec.devices)
    return judge(0 if no_landlock else abi, no_landlock, no_network, no_seccomp, listens)


def close_inspection(spec: SandboxSpec, report: SandboxReport) -> None:
    """From here on engines run: the folders of the user's own files are closed to them."""
    if report.landlock_abi and spec.inspectable:
        landlock.restrict(_grants(spec, inspecting=False), _usable(report.landlock_abi))


def judge(
    abi: int,
    no_landlock: str | None,
    no_network: str | None,
    no_seccomp: str | None,
    listens: bool = False,
) -> SandboxReport:
    """What is open, given the Landlock ABI and why each layer is missing (None: it is there).

    Layers overlap: the filter denies every socket, so that without a network namespace, or with a
    Landlock that knows no TCP, nothing is open. A worker that drives a device ``listens``: the
    filter leaves it local sockets, which only the namespace keeps to itself.
    """
    missing = []
    if no_network and listens and not no_seccomp:
        missing.append(f"no network namespace: {no_network}, so it can listen on local sockets")
    if no_landlock:
        missing.append(f"no landlock: {no_landlock}, so it can read and write your files")
    if no_seccomp:
        missing.append(f"no seccomp: {no_seccomp}, so it can start programs and use local sockets")
        if no_network:
            missing.append(f"no network namespace: {no_network}, so it can use the network")
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


# ---------------------------------------------------------------- layers


def _leave_the_network() -> None:
    """Into a network namespace with nothing in it, not even a loopback that is up.

    Only root may make one alone; others need a user namespace around it, in which they keep their
    own user and group number.
    """
    user, group = os.geteuid(), os.getegid()
    try:
        _unshare(_NEW_NETWORK)
    except OSError:
        _unshare(_NEW_USER | _NEW_NETWORK)
        with contextlib.suppress(OSError):  # cosmetic: else files seem to belong to nobody
            Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
            Path("/proc/self/setgroups").write_text("deny")
            Path("/proc/self/gid_map").write_text(f"{group} {group} 1")


def _drop_capabilities() -> None:
    """All but those by which root reads files of others: Landlock says which ones."""
    kept = _READ_ANY_FILE if os.geteuid() == 0 else 0
    header = struct.pack("=Ii", _CAPABILITIES_VERSION, 0)
    effective, permitted = _capabilities()
    wanted = (kept & effective, kept & permitted, 0)
    _checked(_libc().capset(header, struct.pack("=6I", *wanted, 0, 0, 0)))


def _capabilities() -> tuple[int, int]:
    header = struct.pack("=Ii", _CAPABILITIES_VERSION, 0)
    data = ctypes.create_string_buffer(24)
    _checked(_libc().capget(header, data))
    effective, permitted, _ = struct.unpack("=3I", data.raw[:12])
    return effective, permitted


def _restrict(spec: SandboxSpec, abi: int) -> None:
    landlock.restrict(_grants(spec, inspecting=True), _usable(abi))


def _usable(abi: int) -> int:
    return min(abi, landlock.NEWEST_ABI)


def _grants(spec: SandboxSpec, inspecting: bool) -> Iterator[Grant]:
    execute = Access.EXECUTE if spec.allow_exec else Access(0)
    for path in (*_python(), *_SYSTEM_LIBRARIES, *(_PROGRAMS if spec.allow_exec else ())):
        yield path, READ | execute
    for path in (*_SYSTEM_FACTS, *(_SYSTEM_FACTS_OF_DEVICES if spec.devices else ())):
        yield path, READ
    # Resets the peak of memory; opening it to write also truncates.
    yield "/proc/self/clear_refs", Access.WRITE_FILE | Access.TRUNCATE
    for path in _HARMLESS_DEVICES:
        yield path, Access.READ_FILE | Access.WRITE_FILE
    for path in spec.devices:
        yield path, READ | Access.WRITE_FILE | Access.IOCTL_DEV
    if spec.devices:  # CUDA gives its threads names, and fails where it cannot
        yield "/proc/self/task", READ | Access.WRITE_FILE | Access.TRUNCATE
    for path in spec.readable:
        yield path, READ
    for path in spec.inspectable if inspecting else ():
        yield path, Access.READ_FILE
    yield spec.scratch, WRITE | execute


def _python() -> list[str]:
    """The interpreter, its packages, and the libraries that the user's environment names."""
    prefixes = (sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix)
    libraries = os.environ.get("LD_LIBRARY_PATH", "").split(":")
    return [path for path in dict.fromkeys((*prefixes, *sys.path, *libraries)) if path]


# ---------------------------------------------------------------- system calls


def _try(layer: Callable[[], None]) -> str | None:
    """Why it cannot be had, or None."""
    try:
        layer()
    except OSError as error:
        return (error.strerror or str(error)).lower()
    return None


def _unshare(flags: int) -> None:
    _checked(_libc().unshare(flags))


def _prctl(option: int) -> None:
    on, nothing = ctypes.c_ulong(1), ctypes.c_ulong(0)
    _checked(_libc().prctl(option, on, nothing, nothing, nothing))


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _checked(result: int) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
