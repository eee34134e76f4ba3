"""What there is to know about the server's machine and workspace."""

from __future__ import annotations

import shutil
import threading
from dataclasses import dataclass

from modeldyno.core.doctor import Checkup
from modeldyno.core.errors import WrongState
from modeldyno.core.hosts import HostFacts
from modeldyno.core.queue import CoreLease
from modeldyno.core.sandbox import SandboxReport
from modeldyno.core.versions import tool_version
from modeldyno.measure import host
from modeldyno.services.doctor import DoctorService, confinement
from modeldyno.settings import Settings
from modeldyno.store.records.all import Records


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


class SystemService:
    def __init__(self, settings: Settings, records: Records, doctor: DoctorService) -> None:
        self._settings = settings
        self._records = records
        self._doctor = doctor
        self._sandbox: list[SandboxReport | None] = []  # looked up once: it starts a worker
        self._looking = threading.Lock()
        self._examining = threading.Lock()

    def facts(self) -> SystemFacts:
        disk = shutil.disk_usage(self._settings.workspace)
        return SystemFacts(
            version=tool_version(),
            host=host.facts(),
            sandbox=self._confinement(),
            database=self._records.database.engine.dialect.name,
            free_bytes=disk.free,
            total_bytes=disk.total,
            waiting=self._records.jobs.count_waiting(),
            running=len(self._records.jobs.running()),
            leases=self._records.leases.held(),
        )

    def examine(self) -> Checkup:
        """Two seconds, on a core of its own; raises WrongState while another one is under way."""
        if not self._examining.acquire(blocking=False):
            raise WrongState(
                "The machine is being examined already",
                why="two examinations would disturb each other",
                fix="Ask again in a few seconds",
            )
        try:
            return self._doctor.examine(with_peaks=False)
        finally:
            self._examining.release()

    def _confinement(self) -> SandboxReport | None:
        with self._looking:
            if not self._sandbox:
                self._sandbox.append(confinement())
            return self._sandbox[0]
