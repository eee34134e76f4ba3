"""write_openapi.py FILE: what the server offers to programs, for the page's generated types."""

from __future__ import annotations

import asyncio
import json
import logging
import sys
import tempfile
from pathlib import Path
from typing import Any

from modeldyno.api.access import Access
from modeldyno.api.app import make_application
from modeldyno.api.guard import App
from modeldyno.api.routing import PREFIX
from modeldyno.api.server_address import Listening
from modeldyno.server import open_server
from modeldyno.services.failed_attempts import FailedAttempts
from modeldyno.settings import Settings


def main(file: Path) -> None:
    logging.disable(logging.CRITICAL)
    with tempfile.TemporaryDirectory() as folder:
        server = open_server(Settings(Path(folder)))
        try:
            listening = Listening(needs_token=False)
            app = make_application(
                server, listening, Access(None, listening.cookie, FailedAttempts())
            )
            found = json.loads(asyncio.run(_asked(app, f"{PREFIX}/openapi.json")))
        finally:
            server.lifetime.close()
    # It refers to itself, which the generator of types cannot follow: anything at all.
    found["components"]["schemas"]["JsonValue"] = {}
    # Sorted, so that a change shows as what it is.
    file.write_text(json.dumps(found, indent=1, sort_keys=True, ensure_ascii=False) + "\n")


async def _asked(app: App, path: str) -> bytes:
    """The body of an answer, without a socket in between."""
    scope = {
        "type": "http",
        "http_version": "1.1",
        "method": "GET",
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "headers": [(b"host", b"127.0.0.1:5000")],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 5000),
    }
    body: list[bytes] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        body.append(message.get("body", b""))

    await app(scope, receive, send)
    return b"".join(body)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
