"""Which engines can run here, on which devices, and why not the others; imports none of them."""

from __future__ import annotations

from dataclasses import dataclass, field

from modeldyno.engines.catalog import Entry, entries, version_of
from modeldyno.engines.devices import why_not

_SURE = "cpu"  # an engine that is installed has it; of all others only a worker can be sure
_UNPROVEN = (
    "nothing here speaks against it; whether it works is known when a worker loads a model on it"
)


@dataclass(frozen=True)
class Availability:
    name: str
    usable: bool
    version: str | None
    why_not: str | None
    install: str
    devices: tuple[str, ...]  # that can be used here, as far as can be told without loading it
    formats: tuple[str, ...]
    unavailable_devices: dict[str, str] = field(default_factory=dict)  # the others, and why not
    device_notes: dict[str, str] = field(default_factory=dict)  # of ``devices``: what is not known
    adapter: str = ""  # which engine it is, where it goes by a name that its user gave it
    python: str | None = None  # the version of the other Python that it lives in
    origin: str = ""  # how it came there


def availability() -> tuple[Availability, ...]:
    return tuple(availability_of(entry) for entry in entries())


def availability_of(entry: Entry) -> Availability:
    version, missing = version_of(entry)
    absent = {d: why for d in entry.devices if (why := missing or why_not(entry, d))}
    here = tuple(device for device in entry.devices if device not in absent)
    return Availability(
        name=entry.name,
        usable=missing is None,
        version=version,
        why_not=missing,
        install=entry.install,
        devices=here,
        formats=entry.formats,
        unavailable_devices=absent,
        device_notes={device: _UNPROVEN for device in here if device != _SURE},
        adapter=entry.adapter,
        python=entry.environment.python_version if entry.environment else None,
        origin=entry.environment.origin if entry.environment else "",
    )
