"""What there is to know about the server's machine and workspace."""

from __future__ import annotations

import importlib.metadata
import platform
import shutil
import socket
import stat
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from modeldyno.core.documents.hosts import Checkup, Finding
from modeldyno.core.errors import WrongState
from modeldyno.core.hosts import HostFacts, tool_version
from modeldyno.core.jobs import CoreLease
from modeldyno.core.sessions import SandboxReport
from modeldyno.measure import host
from modeldyno.measure.cpus import Topology, topology
from modeldyno.measure.doctor import judge_machine
from modeldyno.services.doctor import DoctorService, try_sandbox
from modeldyno.settings import Settings
from modeldyno.store.records.all import Records
from modeldyno.worker.untrusted_folders import entries

COUNT_AGAIN_S = 60.0
PACKAGES = (
    *("torch", "torchvision", "torchaudio", "tensorflow"),
    *("onnx", "onnxruntime", "onnxruntime-extensions"),
)


@dataclass(frozen=True)
class SystemFacts:
    version: str
    host: HostFacts
    sandbox: SandboxReport | None  # None: a worker cannot start
    database: str  # sqlite or postgresql
    free_bytes: int  # on the workspace's disk
    total_bytes: int
    waiting: int
    running: int
    leases: tuple[CoreLease, ...]
    used_bytes: int  # by the workspace itself
    load_1m: float | None
    findings: tuple[Finding, ...]  # what the system says of itself: nothing was measured for it


@dataclass(frozen=True)
class Machine:
    """What does not change while a server runs."""

    host: HostFacts
    cpus: Topology
    address: str  # under which other machines of its network know it
    distribution: str
    versions: dict[str, str | None]  # of packages; None: not installed


class SystemService:
    def __init__(self, settings: Settings, records: Records, doctor: DoctorService) -> None:
        self._settings = settings
        self._records = records
        self._doctor = doctor
        self._sandbox: list[SandboxReport | None] = []  # looked up once: it starts a worker
        self._machine: list[Machine] = []
        self._looking = threading.Lock()
        self._examining = threading.Lock()
        self._counting = threading.Lock()
        self._used: tuple[float, int] | None = None

    def facts(self) -> SystemFacts:
        disk = shutil.disk_usage(self._settings.workspace)
        facts, now = host.facts(machine=self._settings.machine), host.read_load()
        # Between one moment and itself: the load is what the system remembers of the last minute.
        findings = judge_machine(facts, host.weather(now, now))
        return SystemFacts(
            version=tool_version(),
            host=facts,
            sandbox=self._try_sandbox(),
            database=self._records.database.engine.dialect.name,
            free_bytes=disk.free,
            total_bytes=disk.total,
            waiting=self._records.jobs.count_waiting(),
            running=len(self._records.jobs.running()),
            leases=self._records.leases.held(),
            used_bytes=self._used_bytes(),
            load_1m=now.load_1m,
            findings=tuple(findings),
        )

    def _used_bytes(self) -> int:
        """Counted now and then: a workspace may hold very many files."""
        with self._counting:
            now = time.monotonic()
            if self._used is None or now - self._used[0] > COUNT_AGAIN_S:
                self._used = (now, _folder_size_bytes(self._settings.workspace))
            return self._used[1]

    def machine(self) -> Machine:
        """Looked at once. No engine is loaded for its version."""
        with self._looking:
            if not self._machine:
                versions = {name: _installed_version(name) for name in PACKAGES}
                versions["onnxruntime"] = versions["onnxruntime"] or _installed_version(
                    "onnxruntime-gpu"
                )
                made = Machine(host.facts(), topology(), _ip_address(), _distribution(), versions)
                self._machine.append(made)
            return self._machine[0]

    def examine(self) -> Checkup:
        """Two seconds, on a core of its own; raises WrongState while another one is under way."""
        if not self._examining.acquire(blocking=False):
            raise WrongState(
                "The machine is already being checked",
                why="two checks would disturb each other",
                fix="Ask again in a few seconds",
            )
        try:
            return self._doctor.examine(with_peaks=False)
        finally:
            self._examining.release()

    def _try_sandbox(self) -> SandboxReport | None:
        with self._looking:
            if not self._sandbox:
                self._sandbox.append(try_sandbox())
            return self._sandbox[0]


def _folder_size_bytes(folder: Path) -> int:
    """What is deleted meanwhile does not count; links are not followed."""
    total = 0
    with suppress(OSError):
        for facts in entries(folder):
            total += 0 if stat.S_ISDIR(facts.st_mode) else facts.st_size
    return total


def _installed_version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _ip_address() -> str:
    """Asked of the system's table of routes; nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        try:
            asking.connect(("192.0.2.1", 9))  # an address that belongs to nobody (RFC 5737)
        except OSError:
            return "127.0.0.1"
        address: str = asking.getsockname()[0]
        return address


def _distribution() -> str:
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except (OSError, KeyError):
        return platform.platform()
