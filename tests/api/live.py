"""A real server for tests that need its inside: uvicorn in a thread, on a workspace of its own."""

from __future__ import annotations

import asyncio
import socket
import threading
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import uvicorn

import modeldyno
from modeldyno.api.access import Access
from modeldyno.api.app import make_application
from modeldyno.api.events import Patience
from modeldyno.api.server_address import UVICORN, Listening
from modeldyno.core.models import NewModel
from modeldyno.core.requests.measuring import BenchmarkRequest
from modeldyno.core.specs import BenchmarkSpec
from modeldyno.server import Server, open_server
from modeldyno.services.failed_attempts import FailedAttempts
from modeldyno.services.requests import make_benchmark_spec
from modeldyno.services.sign_ins import SignIns, SignInsInMemory
from modeldyno.settings import Settings
from modeldyno.store.tokens import TokenFile
from tests.scripts import script

QUICK = Patience(recheck_s=0.05)


@dataclass
class Live:
    server: Server
    token_file: TokenFile
    url: str
    uvicorn: uvicorn.Server
    loops: list[asyncio.AbstractEventLoop]

    @property
    def token(self):
        return self.token_file.current()

    def project(self, name="p"):
        """Something that happens: an event with a number."""
        return self.server.records.projects.add(name)

    def model(self, folder: Path, **said):
        path = script(folder / "m.json", **said)
        facts = modeldyno.inspect(path)
        new = NewModel(
            project_id=self.project("models").id, name="m", path=str(path), format="scripted",
            sha256=facts.sha256, size_bytes=facts.size_bytes, facts=facts,
        )  # fmt: skip
        return self.server.records.models.add(new)

    def start(self, model, iterations=None, batch=(1,), seconds=None):
        """A benchmark of the model, in the queue."""

        def spec(path) -> BenchmarkSpec:
            request = BenchmarkRequest(
                engines=("scripted",),
                batch_sizes=batch,
                iterations=iterations,
                budget=seconds or "default",
            )
            return make_benchmark_spec(request, path)

        _, job = self.server.benchmarks.create(model.project_id, model.id, "b", spec, start=True)
        assert job
        return job

    def cut(self):
        """Every connection breaks without a word, as soon as there is one; soon, or not at all."""
        gone, late = threading.Event(), threading.Event()

        def abort():
            connections = [*self.uvicorn.server_state.connections]
            for connection in connections:
                connection.transport.abort()
            if connections:
                gone.set()
            elif not late.is_set():  # a client that polls has just got its answer
                self.loops[0].call_later(0.005, abort)

        self.loops[0].call_soon_threadsafe(abort)
        gone.wait(1.0)
        late.set()


@contextmanager
def live(workspace: Path, patience=QUICK, needs_token=True, send_buffer=None, **settings):
    """``send_buffer``: about how many bytes the system takes for a client that does not read;
    ``settings`` are further fields of Settings."""
    door = socket.create_server(("127.0.0.1", 0))
    if send_buffer is not None:
        door.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, send_buffer)
    listening = Listening(port=door.getsockname()[1], needs_token=needs_token)
    token = TokenFile(workspace / "token")
    sign_ins = SignIns(token.current, SignInsInMemory()) if needs_token else None
    access = Access(sign_ins, listening.cookie, FailedAttempts())
    server = open_server(Settings(workspace, **settings))
    app = make_application(server, listening, access, patience)
    config = uvicorn.Config(app, log_config=None, **UVICORN)
    running = uvicorn.Server(config)
    loops: list[asyncio.AbstractEventLoop] = []

    async def serve():
        loops.append(asyncio.get_running_loop())
        await running.serve(sockets=[door])

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    token.current()
    server.lock.announce(listening.url)
    try:
        yield Live(server, token, listening.url, running, loops)
    finally:
        running.should_exit = True
        thread.join(30)
        door.close()
        server.lifetime.close()
