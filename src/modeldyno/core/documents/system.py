"""A server: its machine, workspace and queue; its folders; who is signed in."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from modeldyno.core.doctor import Finding, Fitness
from modeldyno.core.documents.described import Amount, Count, Described, Size
from modeldyno.core.hosts import HostFacts


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxDocument(Described):
    """How far workers are confined."""

    level: Literal["full", "partial", "none", "unusable"]
    """unusable: no worker can be started."""
    missing: tuple[str, ...] = ()
    """What a worker could do nevertheless."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkspaceDocument(Described):
    """Where everything is kept."""

    database: Literal["sqlite", "postgresql"]
    """Which one it uses."""
    used_bytes: Count
    """By its files, counted once a minute."""
    free_bytes: Count
    """Free on its disk."""
    total_bytes: Count
    """Size of its disk."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueCountsDocument(Described):
    """How many jobs there are."""

    waiting: Count
    """Whose turn has not come."""
    running: Count
    """That are measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseDocument(Described):
    """A CPU core that a job has to itself."""

    host: str
    """Name of the machine."""
    core: Count
    """A CPU, as the system numbers it."""
    job_id: Size
    """Number of the job."""
    taken_at: datetime
    """In UTC."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineDocument(Described):
    """What a line about the machine says; `host` has the rest."""

    cpu_model: str
    """As its makers call it."""
    cpus: Size
    """That the system sees."""
    cpus_allowed: Size
    """That we may use."""
    memory_bytes: Count
    """Of the whole machine."""
    system: str
    """Linux and so on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthDocument(Described):
    """From what the system says of itself; `POST /system/doctor` measures as well."""

    verdict: Fitness
    """unfit with any problem, fit with care with any warning, else fit."""
    sentence: str
    """The same in words: fit with care: governor."""
    governor: str | None
    """Of the CPU's frequency."""
    load_1m: Amount | None
    """Load average over one minute."""
    findings: tuple[Finding, ...]
    """One for each check that needs no measurement."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemDocument(Described):
    """The machine a server runs on, its workspace, the queue, and who has which core."""

    version: str
    """Of Modeldyno."""
    host: HostFacts
    """CPU, memory, kernel and settings, as in every result."""
    machine: MachineDocument
    """The same in a line."""
    health: HealthDocument
    """Whether it is fit to measure."""
    sandbox: SandboxDocument
    """How far workers are confined."""
    workspace: WorkspaceDocument
    """Where everything is kept."""
    queue: QueueCountsDocument
    """How many jobs there are."""
    leases: tuple[LeaseDocument, ...]
    """Which job has which CPU core."""
    telemetry: str = "none: nothing about you, your models or your numbers leaves this machine"
    """What is sent to whom."""


# ---------------------------------------------------------------- folders


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderEntryDocument(Described):
    """A file or folder that models may be imported from."""

    name: str
    """In its folder."""
    kind: Literal["folder", "file"]
    """Which of the two."""
    size_bytes: Count
    """Of a file."""
    is_model: bool
    """By its name alone; the rest shows when it is imported."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderDocument(Described):
    """What can be imported. Hidden files, links, and files with a second name are left out."""

    path: str
    """The folder; empty: those to start from."""
    entries: tuple[FolderEntryDocument, ...]
    """Folders first, then by name."""
    is_cut: bool
    """There are more than 1 000."""


# ---------------------------------------------------------------- signing in


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionDocument(Described):
    """Who asks."""

    by: Literal["token", "cookie", "open door"]
    """What let you in; the door is open for a server started with `--no-token`."""
    csrf: str | None = None
    """For a cookie: what changes must send as `X-Modeldyno-CSRF`."""
    until: datetime | None = None
    """For a cookie: when it ends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SignInCodeDocument(Described):
    """A one-time code, which may stand in an address where the token must not."""

    code: str
    """The code itself."""
    path: str
    """What a browser opens to be signed in."""
    lifetime_s: Amount
    """It works once, and for this long."""
