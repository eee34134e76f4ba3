"""The machine's peaks, kept in the workspace until the machine changes."""

from __future__ import annotations

import json
from pathlib import Path

from modeldyno.core.codec import decode, encode
from modeldyno.core.doctor import Peaks
from modeldyno.core.errors import WorkspaceUnusable

_NAME = "peaks.json"


def save(workspace: Path, peaks: Peaks) -> None:
    temporary = workspace / f"{_NAME}.new"
    try:
        workspace.mkdir(parents=True, exist_ok=True)
        temporary.write_text(json.dumps(encode(peaks), indent=1))
        temporary.replace(workspace / _NAME)
    except OSError as error:
        raise WorkspaceUnusable(
            "Cannot keep the peaks in the workspace",
            why=f"{error.strerror}: {workspace}",
            fix="Choose another folder with --workspace or MODELDYNO_WORKSPACE",
        ) from error


def load(workspace: Path, fingerprint: str) -> Peaks | None:
    """None when there are none, or those of another machine."""
    try:
        peaks: Peaks = decode(Peaks, json.loads((workspace / _NAME).read_text()))
    except (OSError, ValueError):  # Mismatch is one, too: a file that an older version wrote
        return None
    return peaks if peaks.fingerprint == fingerprint else None
