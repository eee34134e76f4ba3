"""Send a file: always as an attachment of one harmless type, whole or one range of it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from io import FileIO
from typing import Any
from urllib.parse import quote

from fastapi import HTTPException, Response
from fastapi.responses import StreamingResponse

from modeldyno.api.v1.shape import documented_problems
from modeldyno.api.v1.uploads import CONTENT_TYPE, PIECE

_RANGE = re.compile(r"bytes=(\d{0,15})-(\d{0,15})")

DESCRIBED: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The file, as an attachment",
        "content": {CONTENT_TYPE: {"schema": {"type": "string", "format": "binary"}}},
    },
    206: {
        "description": "The range that was asked for",
        "content": {CONTENT_TYPE: {"schema": {"type": "string", "format": "binary"}}},
    },
    304: {"description": "You have it already (`If-None-Match`)"},
    **documented_problems(404, 416),
}


def file_response(
    request_headers: Mapping[str, str], descriptor: int, name: str, sha256: str
) -> Response:
    """``asked`` are the request's headers. Takes the descriptor over. Raises 416 when the file does
    not reach so far."""
    file = os.fdopen(descriptor, "rb", buffering=0)
    size = os.fstat(descriptor).st_size
    tag = f'"{sha256}"'
    headers = {"ETag": tag, "Accept-Ranges": "bytes"}
    if tag in request_headers.get("if-none-match", ""):
        file.close()
        return Response(status_code=304, headers=headers)
    is_same = request_headers.get("if-range", tag) == tag
    wanted = _parse_range(request_headers.get("range", ""), size) if is_same else None
    first, end = wanted or (0, size)
    if first >= end and size:
        file.close()
        raise HTTPException(
            416, f"The file has {size} bytes", headers={"Content-Range": f"bytes */{size}"}
        )
    headers["Content-Disposition"] = f"attachment; filename*=UTF-8''{quote(name, safe='')}"
    headers["Content-Length"] = str(end - first)
    if wanted is not None:
        headers["Content-Range"] = f"bytes {first}-{end - 1}/{size}"
    status = 200 if wanted is None else 206
    return StreamingResponse(
        _read_pieces(file, first, end), status, headers, media_type=CONTENT_TYPE
    )


def _parse_range(text: str, size: int) -> tuple[int, int] | None:
    """From which byte to before which; None for the whole, also when the words make no sense."""
    match = _RANGE.fullmatch(text.strip())
    if match is None or match[1] == match[2] == "":
        return None
    if not match[1]:  # the last so many
        return max(0, size - int(match[2])), size if int(match[2]) else 0
    first, end = int(match[1]), min(int(match[2]) + 1, size) if match[2] else size
    return None if match[2] and int(match[2]) < first else (first, end)


def _read_pieces(file: FileIO, start: int, end: int) -> Iterator[bytes]:
    with file:
        file.seek(start)
        while start < end and (piece := file.read(min(PIECE, end - start))):
            yield piece
            start += len(piece)
