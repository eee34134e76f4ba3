"""Names for the things a run is made of."""

from __future__ import annotations

import re
import secrets
from datetime import UTC, datetime
from typing import NewType

from modeldyno.core.errors import RunNotFound

RunId = NewType("RunId", str)
_PARTS = 16**3  # of a second
_PLAIN = re.compile(r"[0-9A-Za-z-]{1,64}")

# Of what the database keeps: short, never used again after a deletion.
ProjectId = NewType("ProjectId", int)
ModelId = NewType("ModelId", int)
DatasetId = NewType("DatasetId", int)
BenchmarkId = NewType("BenchmarkId", int)
ComparisonId = NewType("ComparisonId", int)
OptimizationId = NewType("OptimizationId", int)
ProfileId = NewType("ProfileId", int)
JobId = NewType("JobId", int)

# Of what a server remembers for as long as it runs.
ConversionId = NewType("ConversionId", int)


def new_run_id(now: datetime | None = None) -> RunId:
    """A run id sorts by time and is unique across machines: ``20261115-095116-3fa9c1``.

    Of the last six digits, three count parts of the second, three are chance.
    """
    moment = now or datetime.now(UTC)
    part = moment.microsecond * _PARTS // 1_000_000
    return RunId(f"{moment:%Y%m%d-%H%M%S}-{part:03x}{secrets.randbelow(_PARTS):03x}")


def run_id(text: str) -> RunId:
    """An id becomes the name of a folder; raises RunNotFound for what would lead elsewhere."""
    if not _PLAIN.fullmatch(text):
        raise RunNotFound(
            "That cannot be the id of a run",
            why="ids look like 20261115-095116-3fa9c1",
            fix="See `modeldyno ls`",
        )
    return RunId(text)
