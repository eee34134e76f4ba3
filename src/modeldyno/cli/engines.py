"""``modeldyno engines``."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from modeldyno.cli import options, output

if TYPE_CHECKING:
    from collections.abc import Sequence

    from modeldyno.engines.catalog import Availability


def engines(
    json: options.Json = False,
    server: options.Server = None,
    workspace: options.Workspace = None,
) -> None:
    """Which engines can run here, and how to get the others."""
    from modeldyno.core.public import ENGINES_SCHEMA
    from modeldyno.engines.catalog import availability

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
            ", ".join(engine.devices),
            ", ".join(engine.formats),
            "" if engine.usable else engine.install,
        )
        for engine in found
    ]
    output.table(head, rows, left=head)


def _there(server: str, workspace: Path | None) -> Sequence[Availability]:
    from modeldyno.cli.remote import connected
    from modeldyno.client.reading import read
    from modeldyno.engines.catalog import Availability

    told = connected(server, workspace).engines.list()["engines"]
    return [read(Availability, engine) for engine in told]
