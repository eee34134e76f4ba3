"""Logs, as routes take and give them."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Query, Response

from modeldyno.services.run_logs import LogChunk

LARGEST = 1 << 20

Offset = Annotated[int, Query(ge=0, le=2**53, description="`X-Next-Offset` of the answer before.")]
Limit = Annotated[int, Query(ge=1, le=LARGEST, description="Bytes, at the most.")]

LOG: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "A stretch of the log; empty when there is nothing beyond the offset yet.",
        "content": {"text/plain": {"schema": {"type": "string"}}},
        "headers": {
            "X-Next-Offset": {
                "description": "Where to continue; unchanged if there was nothing.",
                "schema": {"type": "integer"},
            }
        },
    }
}


def log_answer(chunk: LogChunk) -> Response:
    following = {"X-Next-Offset": str(chunk.next_offset)}
    return Response(chunk.text, headers=following, media_type="text/plain")
