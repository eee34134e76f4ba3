"""Bodies that are files: taken in piece by piece, so that no request holds much memory.

Which operations those are, ``api/app.py`` says: the guard lets large bodies in there and nowhere
else, and only as ``application/octet-stream``.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractContextManager, asynccontextmanager
from typing import Any

from anyio import CancelScope
from fastapi import Request
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect

from modeldyno.core.errors import BadValue
from modeldyno.services.model_files import IncomingUpload, ModelFiles
from modeldyno.store.objects import Incoming

PIECE = 1 << 20  # bytes that are written at once
CONTENT_TYPE = "application/octet-stream"

# For the description of an operation: FastAPI cannot describe a body that is read in pieces.
BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "description": "The file itself, as it is: no form around it.",
        "content": {CONTENT_TYPE: {"schema": {"type": "string", "format": "binary"}}},
    }
}


@asynccontextmanager
async def received_upload(request: Request, files: ModelFiles) -> AsyncIterator[Incoming]:
    """The whole body, on disk; it is removed at the end unless it was kept, and so is what a client
    sent that disconnected."""
    announced = int(request.headers.get("content-length", 0))
    receiving: AbstractContextManager[IncomingUpload] = files.receiving(announced)
    upload = await run_in_threadpool(receiving.__enter__)
    try:
        await _receive_body(request, upload.incoming)
        upload.release_slot()
        yield upload.incoming
    finally:
        # In a thread, since to unlink a large file takes a while; also when this task is cancelled.
        with CancelScope(shield=True):
            await run_in_threadpool(receiving.__exit__, None, None, None)


async def _receive_body(request: Request, incoming: Incoming) -> None:
    gathered = bytearray()
    try:
        async for piece in request.stream():
            gathered += piece
            if len(gathered) >= PIECE:
                await run_in_threadpool(incoming.write, bytes(gathered))
                gathered.clear()
    except ClientDisconnect as error:
        raise BadValue(
            "The upload was cut off", why="the connection ended first", fix="Send it again"
        ) from error
    if gathered:
        await run_in_threadpool(incoming.write, bytes(gathered))
