"""What the guard adds to a request, against a bare ASGI application.

No server and no network: the application is called directly, guarded and bare in alternation, and
lower quartiles of one run are compared:

    .venv/bin/python benchmarks/guard.py [--rounds 60]

A bare application does next to nothing, so the ratio is large by nature; what counts is the cost of
a whole request, and its ratio to the smallest thing that a web framework does (FastAPI's hello).
Exits 1 when the guard costs more than half of that hello.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from fastapi import FastAPI

from modeldyno.api.access import Access
from modeldyno.api.guard import App, Guard, Message, Rules
from modeldyno.api.server_address import Listening
from modeldyno.services.failed_attempts import FailedAttempts
from modeldyno.services.sign_ins import SignIns, SignInsInMemory
from modeldyno.store.tokens import TokenFile

LIMIT = 0.5
CALLS = 500
HEADERS = {  # a browser's
    "host": "127.0.0.1:5000",
    "connection": "keep-alive",
    "accept": "application/json, text/plain, */*",
    "accept-encoding": "gzip, deflate, br",
    "accept-language": "en-GB,en;q=0.9",
    "origin": "http://127.0.0.1:5000",
    "referer": "http://127.0.0.1:5000/",
    "sec-fetch-dest": "empty",
    "sec-fetch-mode": "cors",
    "sec-fetch-site": "same-origin",
    "user-agent": "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36",
}


async def bare(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": [(b"x", b"y")]})
    await send({"type": "http.response.body", "body": b"{}"})


def hello() -> App:
    app = FastAPI()

    async def answer() -> dict[str, str]:
        return {}

    app.add_api_route("/api/v1/projects", answer)
    return app


def guarded(app: App, token: TokenFile) -> App:
    here = Listening()
    sign_ins = SignIns(token.current, SignInsInMemory())
    access = Access(sign_ins, here.cookie, FailedAttempts())
    return Guard(app, Rules(here.hosts, here.origins), access)


async def seconds(app: App, token: str) -> float:
    """For one request, of many in a row."""
    told = HEADERS | {"authorization": f"Bearer {token}"}
    headers = [(key.encode(), value.encode()) for key, value in told.items()]
    answered = 0

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        nonlocal answered
        answered += message.get("status") == 200

    start = time.perf_counter()
    for _ in range(CALLS):
        scope = {
            "type": "http", "method": "GET", "path": "/api/v1/projects", "raw_path": b"",
            "root_path": "", "scheme": "http", "http_version": "1.1", "query_string": b"",
            "headers": headers, "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 5000),
        }  # fmt: skip
        await app(scope, receive, send)
    took = time.perf_counter() - start
    assert answered == CALLS
    return took / CALLS


async def measure(rounds: int, token: TokenFile) -> dict[str, float]:
    apps = {"bare": bare, "guarded": guarded(bare, token), "fastapi": hello()}
    found: dict[str, list[float]] = {name: [] for name in apps}
    for _ in range(rounds):
        for name, app in apps.items():
            found[name].append(await seconds(app, token.current()))
    cost = {name: sorted(values)[rounds // 4] for name, values in found.items()}
    added = cost["guarded"] - cost["bare"]
    return {
        "bare_us": round(cost["bare"] * 1e6, 2),
        "guarded_us": round(cost["guarded"] * 1e6, 2),
        "fastapi_hello_us": round(cost["fastapi"] * 1e6, 2),
        "guard_adds_us": round(added * 1e6, 2),
        "ratio_to_bare": round(cost["guarded"] / cost["bare"], 1),
        "added_to_hello": round(added / cost["fastapi"], 3),
        "limit": LIMIT,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--rounds", type=int, default=60)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as workspace:
        found = asyncio.run(measure(rounds, TokenFile(Path(workspace) / "token")))
    print(json.dumps(found))
    sys.exit(found["added_to_hello"] > LIMIT)


if __name__ == "__main__":
    main()
