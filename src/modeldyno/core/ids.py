"""Names for the things a run is made of."""

from __future__ import annotations

import re
import secrets
from datetime import UTC, datetime
from typing import NewType

from modeldyno.core.errors import RunNotFound

RunId = NewType("RunId", str)
_PLAIN = re.compile(r"[0-9A-Za-z-]{1,64}")


def new_run_id(now: datetime | None = None) -> RunId:
    """A run id sorts by time and is unique across machines: ``20261115-095116-3fa9c1``."""
    moment = now or datetime.now(UTC)
    return RunId(f"{moment:%Y%m%d-%H%M%S}-{secrets.token_hex(3)}")


def run_id(text: str) -> RunId:
    """An id becomes the name of a folder; raises RunNotFound for what would lead elsewhere."""
    if not _PLAIN.fullmatch(text):
        raise RunNotFound(
            "That cannot be the id of a run",
            why="ids look like 20261115-095116-3fa9c1",
            fix="See `modeldyno ls`",
        )
    return RunId(text)
