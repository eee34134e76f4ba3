"""What clients get while the database of an earlier version is upgraded.

Nothing below the guard needs the database here, so the port can be open already.
"""

from __future__ import annotations

from modeldyno.api.access import Access
from modeldyno.api.errors import Refused, upgrading_refusal
from modeldyno.api.guard import Guard, Receive, Rules, Send
from modeldyno.api.routing import Scope
from modeldyno.api.server_address import Listening
from modeldyno.services.failed_attempts import FailedAttempts
from modeldyno.store.upgrades import Step

HEALTH = b'{"status":"upgrading"}'


class Upgrading:
    """Answers 503 with the step that ``on_step`` got last; that may be called from any thread."""

    def __init__(self, listening: Listening) -> None:
        # The answer is the same for all, so no token is needed.
        access = Access(None, listening.cookie, FailedAttempts())
        self.app = Guard(self._send_progress, Rules(listening.hosts, listening.origins), access)
        self._step = Step(0, 0, "")

    def on_step(self, step: Step) -> None:
        self._step = step

    async def _send_progress(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1013})  # try again later
            return
        if scope["path"] != "/healthz":
            raise Refused(upgrading_refusal(str(self._step)))
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", str(len(HEALTH)).encode()),
            (b"connection", b"close"),
        ]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": HEALTH})
