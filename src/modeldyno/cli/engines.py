"""``modeldyno engines``."""

from __future__ import annotations

from dataclasses import asdict

from modeldyno.cli import options, output


def engines(json: options.Json = False) -> None:
    """Which engines can run here, and how to get the others."""
    from modeldyno.core.public import ENGINES_SCHEMA
    from modeldyno.engines.catalog import availability

    found = availability()
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
