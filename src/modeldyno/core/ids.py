"""Names for the things a run is made of."""

from __future__ import annotations

import secrets
from datetime import UTC, datetime
from typing import NewType

RunId = NewType("RunId", str)

# Of what the database keeps: short, never used again after a deletion.
ProjectId = NewType("ProjectId", int)
ModelId = NewType("ModelId", int)
DatasetId = NewType("DatasetId", int)
BenchmarkId = NewType("BenchmarkId", int)
ComparisonId = NewType("ComparisonId", int)
OptimizationId = NewType("OptimizationId", int)
ProfileId = NewType("ProfileId", int)
JobId = NewType("JobId", int)


def new_run_id(now: datetime | None = None) -> RunId:
    """A run id sorts by time and is unique across machines: ``20261115-095116-3fa9c1``."""
    moment = now or datetime.now(UTC)
    return RunId(f"{moment:%Y%m%d-%H%M%S}-{secrets.token_hex(3)}")
