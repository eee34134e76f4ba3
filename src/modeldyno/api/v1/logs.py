"""What workers printed, stretch by stretch: plain text that commands no terminal."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from fastapi import Query, Response

from modeldyno.core.redaction import without_controls, without_folders

LARGEST = 1 << 20

Offset = Annotated[int, Query(ge=0, le=2**53, description="`X-Next-Offset` of the answer before.")]
Limit = Annotated[int, Query(ge=1, le=LARGEST, description="Bytes, at the most.")]

LOG: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "A stretch of the log; empty when there is nothing beyond the offset yet.",
        "content": {"text/plain": {"schema": {"type": "string"}}},
        "headers": {
            "X-Next-Offset": {
                "description": "Where to go on; the same as before when there was nothing.",
                "schema": {"type": "integer"},
            }
        },
    }
}


def log_answer(file: Path, offset: int, limit: int) -> Response:
    """Whole lines, so that nothing is cut in its middle; a longer line comes in pieces."""
    data = _read(file, offset, limit)
    if len(data) == limit and b"\n" in data:
        data = data[: data.rindex(b"\n") + 1]
    text = without_folders(without_controls(data.decode("utf-8", "replace")))
    following = {"X-Next-Offset": str(offset + len(data))}
    return Response(text, headers=following, media_type="text/plain")


def _read(file: Path, offset: int, limit: int) -> bytes:
    try:
        with file.open("rb") as log:
            log.seek(offset)
            return log.read(limit)
    except FileNotFoundError:  # it waits still
        return b""
