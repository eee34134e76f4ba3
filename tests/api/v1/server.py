"""A real server on a workspace of its own, and how tests ask it.

It runs in a thread of the test's process: what it serves comes over real HTTP, and a test may look
behind it (``served.server``) to prepare what no route makes yet, or to count queries.
"""

from __future__ import annotations

import http.client
import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import uvicorn
from sqlalchemy import event

from modeldyno.api.access import Access
from modeldyno.api.app import make_application
from modeldyno.api.request_head import surface_of
from modeldyno.api.server_address import UVICORN, Listening
from modeldyno.core.ids import ProjectId
from modeldyno.core.models import NewModel
from modeldyno.formats import scripted
from modeldyno.server import Server, open_server
from modeldyno.services.failed_attempts import FailedAttempts
from modeldyno.services.sign_ins import SignIns, SignInsInMemory
from modeldyno.settings import Settings
from modeldyno.store.tokens import TokenFile
from tests.scripts import script

PATIENCE_S = 90.0  # other tests may hold the cores
# Threads of the server that ask the database by themselves.
BACKGROUND = (
    *("announcing", "aside", "events", "folders", "queue", "rebuilding", "supervisor", "cleanup"),
)


@dataclass(frozen=True)
class Answer:
    status: int
    headers: http.client.HTTPMessage
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Served:
    def __init__(self, server: Server, listening: Listening, token: str) -> None:
        self.server = server
        self.workspace = server.settings.workspace
        self.port = listening.port
        self.url = listening.url
        self.token = token
        self._models = 0

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> Answer:
        """``body`` is sent as JSON unless it is bytes; ``if_match="x"`` becomes ``If-Match: x``.

        Whatever comes back must not tell where the workspace lies, but for the reference API, whose
        clients are told paths.
        """
        said = {"Authorization": f"Bearer {self.token}"}
        said |= {name.replace("_", "-").title(): value for name, value in headers.items()}
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
            said.setdefault("Content-Type", "application/json")
        link = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
        try:
            link.request(method, path if path[:1] == "/" else f"/api/v1/{path}", body, said)
            reply = link.getresponse()
            answer = Answer(reply.status, reply.headers, reply.read())
        finally:
            link.close()
        if surface_of(path) != "inc":
            assert str(self.workspace).encode() not in answer.body, answer.text
        return answer

    def get(self, path: str, **headers: str) -> Answer:
        return self.ask("GET", path, **headers)

    def post(self, path: str, body: Any = None, **headers: str) -> Answer:
        return self.ask("POST", path, body, **headers)

    def patch(self, path: str, body: Any, **headers: str) -> Answer:
        return self.ask("PATCH", path, body, **headers)

    def put(self, path: str, body: Any, **headers: str) -> Answer:
        return self.ask("PUT", path, body, **headers)

    def delete(self, path: str, **headers: str) -> Answer:
        return self.ask("DELETE", path, **headers)

    # ------------------------------------------------------------ what tests begin with

    def project(self, name: str = "Tests") -> int:
        found: int = self.post("projects", {"name": name}).json["id"]
        return found

    def model(self, project_id: int, name: str = "", **said: Any) -> int:
        """A model of the scripted engine, looked into: ``model(1, latency_us=200)``."""
        self._models += 1
        folder = self.workspace / "scripts"
        folder.mkdir(exist_ok=True)
        path = script(folder / f"m{self._models}.json", **said)
        facts = scripted.read(path)
        made = self.server.records.models.add(
            NewModel(
                project_id=ProjectId(project_id),
                name=name or path.name,
                path=str(path),
                format=facts.format,
                sha256=facts.sha256,
                size_bytes=facts.size_bytes,
                framework=facts.framework,
                facts=facts,
            )
        )
        return made.id

    def benchmark(self, project_id: int, model_id: int | None = None, **said: Any) -> Any:
        """One that takes about a second, in the queue unless ``start=False``."""
        asked = {"project_id": project_id, "model_id": model_id or self.model(project_id)}
        answer = self.post("benchmarks", asked | {"iterations": 20, "warmup": 1} | said)
        assert answer.status == 201, answer.text
        return answer.json

    def ended(self, job_id: int) -> Any:
        """The job, once it neither waits nor runs."""
        return self.until(job_id, lambda job: job["state"] not in ("queued", "running"))

    def until(self, job_id: int, is_so: Any) -> Any:
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            job = self.get(f"jobs/{job_id}").json
            if is_so(job):
                return job
            time.sleep(0.02)
        raise AssertionError(f"job {job_id} after {PATIENCE_S:g} s: {job}")

    @contextmanager
    def counting(self) -> Iterator[list[str]]:
        """What was asked of the database meanwhile, but for what the server asks by itself."""
        asked: list[str] = []

        def note(_conn: Any, _cursor: Any, statement: str, *_: Any) -> None:
            if threading.current_thread().name not in BACKGROUND:
                asked.append(statement)

        database = self.server.records.database
        engines = {database.engine, database.reading_engine}
        for engine in engines:
            event.listen(engine, "before_cursor_execute", note)
        try:
            yield asked
        finally:
            for engine in engines:
                event.remove(engine, "before_cursor_execute", note)


@contextmanager
def serving(workspace: Path, http: Any = "auto", **settings: Any) -> Iterator[Served]:
    """``settings`` are further fields of Settings, ``database_url`` and the like."""
    token = TokenFile(workspace / "token")
    server = open_server(replace(Settings(workspace), **settings))
    door = socket.create_server(("127.0.0.1", 0))
    listening = Listening(port=door.getsockname()[1])
    access = Access(SignIns(token.current, SignInsInMemory()), listening.cookie, FailedAttempts())
    app = make_application(server, listening, access)
    server.lock.announce(listening.url)
    running = uvicorn.Server(
        uvicorn.Config(app, http=http, log_config=None, lifespan="on", **UVICORN)
    )
    thread = threading.Thread(target=running.run, kwargs={"sockets": [door]}, name="served")
    thread.start()
    try:
        served = Served(server, listening, token.current())
        assert served.get("projects").status == 200  # waits at the door until somebody is there
        yield served
    finally:
        running.should_exit = True
        thread.join(30)
        server.lifetime.close()
