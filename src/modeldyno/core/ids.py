"""Ids of runs, and of what a server keeps."""

from __future__ import annotations

import re
import secrets
from datetime import UTC, datetime
from typing import NewType

from modeldyno.core.errors import RunNotFound

RunId = NewType("RunId", str)
_PARTS = 16**3  # of a second
_PLAIN = re.compile(r"[0-9A-Za-z-]{1,64}")
_NUMBER = re.compile(r"#([0-9]{1,15})|([0-9]{1,5})")

# Of database rows: short, and never reused after a deletion.
ProjectId = NewType("ProjectId", int)
ModelId = NewType("ModelId", int)
DatasetId = NewType("DatasetId", int)
BenchmarkId = NewType("BenchmarkId", int)
ComparisonId = NewType("ComparisonId", int)
OptimizationId = NewType("OptimizationId", int)
ProfileId = NewType("ProfileId", int)
JobId = NewType("JobId", int)

# Of what a server keeps only in memory.
ConversionId = NewType("ConversionId", int)


def new_run_id(now: datetime | None = None) -> RunId:
    """Run ids sort by time and are unique across machines: ``20261115-095116-3fa9c1``.

    The last six digits are three for fractions of the second and three random ones.
    """
    moment = now or datetime.now(UTC)
    part = moment.microsecond * _PARTS // 1_000_000
    return RunId(f"{moment:%Y%m%d-%H%M%S}-{part:03x}{secrets.randbelow(_PARTS):03x}")


def began_at(text: str) -> datetime | None:
    """The time that a run's id begins with; None for other texts."""
    try:
        began = datetime.strptime(text[:15], "%Y%m%d-%H%M%S").replace(tzinfo=UTC)
    except ValueError:
        return None
    return began if _PLAIN.fullmatch(text) else None


def number_in(text: str) -> int | None:
    """The number of a run in ``12`` or ``#12``; None in texts that are, or may be part of, its id:
    those of more than five digits."""
    match = _NUMBER.fullmatch(text)
    return int(match[1] or match[2]) if match else None


def run_id(text: str) -> RunId:
    """Ids are names of folders, so anything that could lead elsewhere raises RunNotFound."""
    if not _PLAIN.fullmatch(text):
        raise RunNotFound(
            "That cannot be the id of a run",
            why="ids look like 20261115-095116-3fa9c1",
            fix="See `modeldyno ls`",
        )
    return RunId(text)
