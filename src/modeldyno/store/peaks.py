"""The machine's peaks, kept in the workspace until the machine changes."""

from __future__ import annotations

import json
from pathlib import Path

from modeldyno.core.codec import decode, encode
from modeldyno.core.documents.hosts import Peaks
from modeldyno.store.durable_files import replace_file, workspace_unusable_error

_NAME = "peaks.json"


def save(workspace: Path, peaks: Peaks) -> None:
    try:
        workspace.mkdir(parents=True, exist_ok=True)
        replace_file(workspace / _NAME, json.dumps(encode(peaks), indent=1))
    except OSError as error:
        why = f"{error.strerror}: {workspace}"
        raise workspace_unusable_error("Cannot keep the peaks in the workspace", why) from error


def load(workspace: Path, fingerprint: str) -> Peaks | None:
    """None if there are none, or they are those of another machine."""
    try:
        peaks: Peaks = decode(Peaks, json.loads((workspace / _NAME).read_text()))
    except (OSError, ValueError):  # Mismatch, too: an older version wrote the file
        return None
    return peaks if peaks.fingerprint == fingerprint else None
