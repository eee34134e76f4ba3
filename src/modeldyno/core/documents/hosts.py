"""The machine that figures were made on, and whether it is fit to measure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Literal

from modeldyno.core.documents.described import (
    Amount,
    Count,
    Described,
    Moment,
    Schema,
    Share,
    Size,
    to_milliseconds,
)
from modeldyno.core.hosts import HostFacts, HostWeather
from modeldyno.core.results import Noise

FindingState = Literal["ok", "warning", "problem", "unknown"]
Fitness = Literal["fit", "fit with care", "unfit"]
NONE = "none"


@dataclass(frozen=True)
class Finding(Described):
    """One check."""

    name: str
    """What was looked at."""
    state: FindingState
    """unknown is not held against the machine."""
    value: str
    """What was found."""
    effect: str = NONE
    """What it does to numbers; "none" when nothing."""
    fix: str = NONE
    """A command where there is one, else advice, else "none"."""


@dataclass(frozen=True)
class ClockReading:
    """The stopwatch itself."""

    resolution_s: float  # smallest step
    cost_s: float  # of one reading
    went_back: bool
    oversleep_s: float  # how late a short sleep typically ends


@dataclass(frozen=True)
class NoiseReading:
    """How steadily a fixed piece of work runs when repeated for a second."""

    floor_s: float
    typical_s: float
    contention: float  # wall over CPU time
    samples: int


@dataclass(frozen=True)
class Peak:
    """The highest rates of this number of cores."""

    cores: int
    flops_per_s: float
    bytes_per_s: float
    noise: Noise  # the worse of both measurements; unless quiet, higher rates may be possible


@dataclass(frozen=True)
class Peaks:
    fingerprint: str  # of the machine
    created_at: str
    engine: str
    work: str  # what was computed for ``flops_per_s``
    traffic: str  # what was moved for ``bytes_per_s``
    peaks: tuple[Peak, ...]


@dataclass(frozen=True)
class Checkup:
    created_at: str
    tool_version: str
    findings: tuple[Finding, ...]
    clock: ClockReading
    noise: NoiseReading | None  # None if no core was free
    peaks: Peaks | None  # None if not measured on this machine yet
    host: HostFacts
    weather: HostWeather

    @property
    def fitness(self) -> Fitness:
        return fitness(self.findings)


def fitness(findings: Sequence[Finding]) -> Fitness:
    """One problem makes it unfit; unknown states do not count."""
    states = {finding.state for finding in findings}
    if "problem" in states:
        return "unfit"
    return "fit with care" if "warning" in states else "fit"


def verdict_sentence(findings: Sequence[Finding]) -> str:
    """``unfit: load, noise (and 3 warnings)``."""
    problems = [f.name for f in findings if f.state == "problem"]
    warnings = [f.name for f in findings if f.state == "warning"]
    if not problems:
        return f"{fitness(findings)}: {', '.join(warnings)}" if warnings else fitness(findings)
    others = f" (and {len(warnings)} warning{'s' * (len(warnings) > 1)})" if warnings else ""
    return f"{fitness(findings)}: {', '.join(problems)}{others}"


@dataclass(frozen=True, slots=True, kw_only=True)
class WeatherDocument(Described):
    """What the machine did to us while we measured; null where the system does not say."""

    load_1m: Amount | None
    """Load average over one minute, read at the end."""
    cpu_pressure: Share | None
    """Share of the time in which some task on the machine waited for a CPU."""
    steal: Share | None
    """Share of CPU time that the hypervisor gave to others."""
    throttled_ms: Amount | None
    """Time for which a cgroup quota held us back."""
    busy: Share | None
    """Share of all CPUs' time in use, by us and everybody."""
    memory_available_bytes: Count | None
    """Memory that programs could still get, at the end."""
    swap_used_bytes: Count | None
    """Swap space in use, at the end."""
    swapped_in_bytes: Count | None
    """Read back from swap meanwhile."""

    @classmethod
    def of(cls, weather: HostWeather) -> WeatherDocument:
        return cls.from_fields(
            weather,
            cpu_pressure=weather.pressure,
            throttled_ms=to_milliseconds(weather.throttled_s),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockDocument(Described):
    """The stopwatch."""

    resolution_ns: Amount
    """Smallest step seen."""
    cost_ns: Amount
    """Of one reading."""
    went_back: bool
    """Whether it ever ran backwards."""
    oversleep_ms: float
    """How much later than requested a sleep of 1 ms ended, typically."""

    @classmethod
    def of(cls, clock: ClockReading) -> ClockDocument:
        return cls(
            resolution_ns=clock.resolution_s * 1e9,
            cost_ns=clock.cost_s * 1e9,
            went_back=clock.went_back,
            oversleep_ms=clock.oversleep_s * 1e3,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class NoiseDocument(Described):
    """A fixed piece of work, measured for a second."""

    floor_ms: Amount
    """What the work costs."""
    typical_ms: Amount
    """What it took typically: the median."""
    contention: Annotated[float, Schema(minimum=1)]
    """Wall over CPU time; 1 is undisturbed."""
    samples: Count
    """Timings taken."""

    @classmethod
    def of(cls, noise: NoiseReading) -> NoiseDocument:
        return cls(
            floor_ms=noise.floor_s * 1e3,
            typical_ms=noise.typical_s * 1e3,
            contention=noise.contention,
            samples=noise.samples,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PeakDocument(Described):
    """The most that so many cores reached."""

    cores: Size
    """CPUs used."""
    gflop_per_s: Amount
    """Billions of fp32 operations a second."""
    gbyte_per_s: Amount
    """Billions of bytes a second, read and written."""
    noise: Noise
    """Of the worse of both measurements; unless quiet, more may be possible."""

    @classmethod
    def of(cls, peak: Peak) -> PeakDocument:
        return cls(
            cores=peak.cores,
            gflop_per_s=peak.flops_per_s / 1e9,
            gbyte_per_s=peak.bytes_per_s / 1e9,
            noise=peak.noise,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PeaksDocument(Described):
    """What the machine reached with --peaks, now or earlier."""

    created_at: Moment
    """When: ISO 8601 with zone."""
    engine: str
    """Engine and version whose kernels were used."""
    work: str
    """What was computed for GFLOP/s."""
    traffic: str
    """What was moved for GB/s."""
    cores: tuple[PeakDocument, ...]
    """For one core and for all."""

    @classmethod
    def of(cls, peaks: Peaks) -> PeaksDocument:
        return cls.from_fields(peaks, cores=tuple(map(PeakDocument.of, peaks.peaks)))


@dataclass(frozen=True, slots=True, kw_only=True)
class DoctorDocument(Described):
    """What `modeldyno doctor --json` gives: whether this machine is fit to measure, and why not."""

    schema: Literal["modeldyno.doctor/2"] = "modeldyno.doctor/2"
    """Name and version of this format."""
    created_at: Moment
    """When: ISO 8601 with zone."""
    tool_version: str
    """Version of Modeldyno."""
    verdict: Fitness
    """unfit with any problem, fit with care with any warning, else fit."""
    findings: tuple[Finding, ...]
    """One for each check, always all of them."""
    clock: ClockDocument
    """The stopwatch."""
    noise: NoiseDocument | None
    """A fixed piece of work, measured for a second; null when no core was free."""
    peaks: PeaksDocument | None
    """What the machine reached with --peaks, now or earlier; null when never."""
    host: HostFacts
    """The machine."""
    weather: WeatherDocument
    """What the machine did meanwhile."""

    @classmethod
    def of(cls, checkup: Checkup) -> DoctorDocument:
        return cls.from_fields(
            checkup,
            verdict=checkup.fitness,
            clock=ClockDocument.of(checkup.clock),
            noise=NoiseDocument.of(checkup.noise) if checkup.noise else None,
            peaks=PeaksDocument.of(checkup.peaks) if checkup.peaks else None,
            weather=WeatherDocument.of(checkup.weather),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineDocument(Described):
    """One engine and whether it can be used here."""

    name: str
    """As --engine takes it."""
    title: str
    """As its makers write it: ONNX Runtime."""
    color: int
    """Its place among the colours of charts, counted from 0; no two engines share one."""
    usable: bool
    """Whether its package is installed and its entry point loads."""
    version: str | None
    """Version of its package."""
    why_not: str | None
    """Why it is not usable; null when it is."""
    install: str
    """How to get it."""
    devices: tuple[str, ...]
    """Devices it can use here, as far as is known without loading it."""
    unavailable_devices: dict[str, str]
    """The others that it has, each with the reason why it cannot be used here."""
    device_notes: dict[str, str]
    """Of `devices`: what only a worker that loads the engine can find out."""
    formats: tuple[str, ...]
    """Model formats it reads."""
    has_streams: bool
    """Whether it can run several requests at a time: `streams` of a benchmark."""
    adapter: str
    """Which engine it is, where it goes by a name that its user gave it."""
    python: str | None
    """Version of the other Python that it lives in; null: Modeldyno's own."""
    origin: str
    """How it came there: what pip installed, or the path of its Python; empty for engines of
    Modeldyno's own environment."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EnginesDocument(Described):
    """What `modeldyno engines --json` gives."""

    schema: Literal["modeldyno.engines/1"] = "modeldyno.engines/1"
    """Name and version of this format."""
    engines: tuple[EngineDocument, ...]
    """Built-in engines first, then those that installed packages announce, then those that were
    added."""


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
