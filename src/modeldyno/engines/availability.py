"""Which engines and devices can be used here, and why the others cannot; imports no engine."""

from __future__ import annotations

from modeldyno.core.documents.engines import EngineDocument
from modeldyno.engines.catalog import Entry, entries, version_of
from modeldyno.engines.devices import why_not

_ALWAYS_AVAILABLE = "cpu"  # for other devices only loading a model in a worker gives certainty
_UNPROVEN = "seems available; certain only once a worker has loaded a model on it"


def availability() -> tuple[EngineDocument, ...]:
    return tuple(availability_of(entry) for entry in entries())


def availability_of(entry: Entry) -> EngineDocument:
    version, missing = version_of(entry)
    unavailable = {d: why for d in entry.devices if (why := missing or why_not(entry, d))}
    available = tuple(device for device in entry.devices if device not in unavailable)
    return EngineDocument(
        name=entry.name,
        title=entry.title or entry.name,
        usable=missing is None,
        version=version,
        why_not=missing,
        install=entry.install,
        devices=available,
        formats=entry.formats,
        has_streams=entry.has_streams,
        unavailable_devices=unavailable,
        device_notes={d: _UNPROVEN for d in available if d != _ALWAYS_AVAILABLE},
        adapter=entry.adapter,
        python=entry.environment.python_version if entry.environment else None,
        origin=entry.environment.origin if entry.environment else "",
    )
