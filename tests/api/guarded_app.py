"""A real server for the guard's tests: FastAPI beside Socket.IO, run by uvicorn on loopback.

    python -m tests.api.guarded_app TOKEN_FILE {h11|httptools} {guarded|bare|open}

``bare`` is the positive control: the same application without the guard. Prints its port.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import sys
from pathlib import Path

import socketio
import uvicorn
from fastapi import FastAPI, Request, Response

from modeldyno.api.access import CALLER, Access
from modeldyno.api.errors import Refusal
from modeldyno.api.guard import Guard, Rules
from modeldyno.api.server_address import UVICORN, Listening, cookie_header, safe_landing_path
from modeldyno.core.redaction import RedactingFormatter
from modeldyno.services.failed_attempts import FailedAttempts
from modeldyno.services.sign_ins import LIFETIME_S, SignIns, SignInsInMemory
from modeldyno.store.tokens import TokenFile

METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PURGE"]


def build(listening: Listening, token: TokenFile, guarded: bool):
    needs_token = guarded and listening.needs_token
    sign_ins = SignIns(token.current, SignInsInMemory())
    access = Access(sign_ins if needs_token else None, listening.cookie, FailedAttempts())
    app = FastAPI(openapi_url=None)

    async def page():
        return Response("<h1>page</h1>", media_type="text/html")

    async def sign_in(request: Request, code: str, next: str = "/"):
        found = access.sign_in(request.scope, code)
        if isinstance(found, Refusal):
            return Response("no", status_code=found.status)
        cookie = cookie_header(listening.cookie, found[0], LIFETIME_S)
        headers = {
            "location": safe_landing_path(next),
            "set-cookie": cookie,
            "x-csrf": found[1].csrf,
        }
        return Response(status_code=303, headers=headers)

    async def code():
        return {"code": sign_ins.new_code()}

    async def boom(request: Request):
        raise RuntimeError(f"{token.current()} {request.headers} in {__file__}")

    async def size(request: Request):
        return {"size": len(await request.body())}

    async def echo(request: Request):
        caller = request.scope.get(CALLER)
        seen = {"caller": caller and caller.by, "headers": dict(request.headers)}
        return Response(
            repr(seen), headers={"access-control-allow-origin": "*", "cache-control": "public"}
        )

    app.add_api_route("/", page)
    app.add_api_route("/healthz", page)
    app.add_api_route("/sign-in", sign_in)
    app.add_api_route("/api/v1/codes", code, methods=["POST"])
    app.add_api_route("/api/v1/boom", boom, methods=METHODS)
    app.add_api_route("/api/boom", boom, methods=METHODS)
    app.add_api_route("/api/v1/size", size, methods=METHODS)
    app.add_api_route("/api/v1/{rest:path}", echo, methods=METHODS)
    app.add_api_route("/api/{rest:path}", echo, methods=METHODS)

    # No origin check of its own, so that only the guard stands between a stranger and a socket.
    sio = socketio.AsyncServer(async_mode="asgi", cors_allowed_origins=[])

    async def connect(sid, environ, auth):
        if access.identify_socket_client(environ["asgi.scope"], auth) is None and guarded:
            raise socketio.exceptions.ConnectionRefusedError("token")
        await sio.enter_room(sid, "known")

    async def tick():
        while True:
            await sio.emit("tick", {}, room="known")
            await asyncio.sleep(0.02)

    async def started():
        app.state.ticking = asyncio.create_task(tick())

    sio.on("connect", connect)
    whole = socketio.ASGIApp(sio, app, on_startup=started)
    return Guard(whole, Rules(listening.hosts, listening.origins), access) if guarded else whole


def main() -> None:
    file, http, mode = sys.argv[1:]
    token = TokenFile(Path(file))
    handler = logging.StreamHandler()
    handler.setFormatter(RedactingFormatter("%(message)s", lambda: [token.current()]))
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    listener = socket.create_server(("127.0.0.1", 0))
    listening = Listening(port=listener.getsockname()[1], needs_token=mode == "guarded")
    app = build(listening, token, guarded=mode != "bare")
    config = uvicorn.Config(app, http=http, log_config=None, lifespan="on", **UVICORN)
    sys.stdout.write(f"{listening.port}\n")
    sys.stdout.flush()
    uvicorn.Server(config).run(sockets=[listener])


if __name__ == "__main__":
    main()
