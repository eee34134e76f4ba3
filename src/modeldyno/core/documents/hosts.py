"""The machine that figures were made on, and whether it is fit to measure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from modeldyno.core.doctor import Checkup, ClockReading, Finding, Fitness, NoiseReading, Peak, Peaks
from modeldyno.core.documents.described import (
    Amount,
    Count,
    Described,
    Moment,
    Schema,
    Share,
    Size,
    milliseconds,
)
from modeldyno.core.hosts import HostFacts, HostWeather
from modeldyno.core.results import Noise


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
            throttled_ms=milliseconds(weather.throttled_s),
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
