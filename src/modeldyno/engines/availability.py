"""Which engines can run here, on which devices, and why not the others; imports none of them."""

from __future__ import annotations

from modeldyno.core.documents.engines import EngineDocument
from modeldyno.engines.catalog import Entry, entries, version_of
from modeldyno.engines.devices import why_not

_SURE = "cpu"  # an engine that is installed has it; of all others only a worker can be sure
_UNPROVEN = (
    "nothing here speaks against it; whether it works is known when a worker loads a model on it"
)


def availability() -> tuple[EngineDocument, ...]:
    return tuple(availability_of(entry) for entry in entries())


def availability_of(entry: Entry) -> EngineDocument:
    version, missing = version_of(entry)
    absent = {d: why for d in entry.devices if (why := missing or why_not(entry, d))}
    here = tuple(device for device in entry.devices if device not in absent)
    return EngineDocument(
        name=entry.name,
        title=entry.title or entry.name,
        usable=missing is None,
        version=version,
        why_not=missing,
        install=entry.install,
        devices=here,
        formats=entry.formats,
        has_streams=entry.has_streams,
        unavailable_devices=absent,
        device_notes={device: _UNPROVEN for device in here if device != _SURE},
        adapter=entry.adapter,
        python=entry.environment.python_version if entry.environment else None,
        origin=entry.environment.origin if entry.environment else "",
    )
