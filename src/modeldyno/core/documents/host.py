"""The machine that figures were made on, and what it did meanwhile."""

from __future__ import annotations

from dataclasses import dataclass

from modeldyno.core.documents.described import Amount, Count, Described, Share
from modeldyno.core.hosts import HostWeather


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
        throttled_s = weather.throttled_s
        return cls.from_fields(
            weather,
            cpu_pressure=weather.pressure,
            throttled_ms=None if throttled_s is None else throttled_s * 1e3,
        )
