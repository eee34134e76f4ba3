"""``modeldyno engines``."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from modeldyno.cli import options, output

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from modeldyno.engines.availability import Availability


def engines(
    json: options.Json = False,
    server: options.Server = None,
    workspace: options.Workspace = None,
) -> None:
    """Which engines can run here, and how to get the others.

    Examples:

        modeldyno engines

        modeldyno engines --json
    """
    from modeldyno.core.public import ENGINES_SCHEMA
    from modeldyno.engines.availability import availability

    found = availability() if server is None else _there(server, workspace)
    if json:
        output.document({"schema": ENGINES_SCHEMA, "engines": [asdict(e) for e in found]})
        return
    head = ("engine", "usable", "version", "devices", "formats", "install")
    rows = [
        (
            engine.name,
            "yes" if engine.usable else f"no: {engine.why_not}",
            engine.version or "–",
            ", ".join(engine.devices) or "–",
            ", ".join(engine.formats),
            "" if engine.usable else engine.install,
        )
        for engine in found
    ]
    output.table(head, rows, left=head)
    remarks = [remark for engine in found if engine.usable for remark in _remarks(engine)]
    if remarks:
        output.say("")
        titles = ("engine", "device", "here", "why")
        output.table(titles, remarks, left=titles)


def _remarks(engine: Availability) -> Iterator[tuple[str, str, str, str]]:
    """What is to be said of its devices; those of which the same is to be said, together."""
    for here, told in (("?", engine.device_notes), ("no", engine.unavailable_devices)):
        for why in dict.fromkeys(told.values()):
            named = [device for device, text in told.items() if text == why]
            yield engine.name, ", ".join(named), here, why


def _there(server: str, workspace: Path | None) -> Sequence[Availability]:
    from modeldyno.cli.remote import connected
    from modeldyno.client.reading import read
    from modeldyno.engines.availability import Availability

    told = connected(server, workspace).engines.list()["engines"]
    return [read(Availability, engine) for engine in told]
