"""Open a workspace and serve it until somebody says stop."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from types import FrameType, TracebackType

import uvicorn

from modeldyno.api.access import Access
from modeldyno.api.app import make_application
from modeldyno.api.connections import ImpatientHttp
from modeldyno.api.server_address import UVICORN, Listening
from modeldyno.api.upgrading import Upgrading
from modeldyno.core.errors import BadValue
from modeldyno.core.redaction import RedactingFormatter
from modeldyno.server import Server, open_server
from modeldyno.services.failed_attempts import FailedAttempts
from modeldyno.services.sign_ins import SignIns
from modeldyno.settings import Settings
from modeldyno.store.records.sign_ins import SignInRecords
from modeldyno.store.tokens import TokenFile
from modeldyno.store.upgrades import OnStep, Step
from modeldyno.workbench import open_token

logger = logging.getLogger(__name__)

_MORE_PORTS = 100
_BACKLOG = 128
_LOOK_AGAIN_S = 1.0

IsUp = Callable[[Server, Listening], None]


def serve(
    settings: Settings,
    listening: Listening,
    is_up: IsUp | None = None,
    on_step: OnStep = lambda _: None,
) -> None:
    """Blocks until the process has to end; ``is_up`` is called once clients can connect,
    ``on_step`` before that for each step of an upgrade of the database.

    Ends with KeyboardInterrupt when a signal ended it: what to make of that is the caller's.
    Raises TokenUnusable rather than listen where anybody could get in.
    """
    token = open_token(settings)
    if listening.needs_token:
        token.current()
    with contextlib.ExitStack() as held:

        @cache
        def bound() -> tuple[socket.socket, Listening]:
            bound_here = _bind_free_port(listening)
            held.enter_context(bound_here[0])
            return bound_here

        server = open_server(settings, upgrading=lambda: _upgrading_replies(*bound(), on_step))
        held.callback(server.lifetime.close)
        door, here = bound()
        _log_safely(token, settings.database_url)
        kept = SignInRecords(server.records.database)
        sign_ins = SignIns(token.current, kept) if here.needs_token else None
        access = Access(sign_ins, here.cookie, FailedAttempts())
        app = make_application(server, here, access)
        server.lock.announce(here.url)
        config = uvicorn.Config(app, http=ImpatientHttp, log_config=None, **UVICORN)
        if is_up is not None:
            is_up(server, here)
        _Listener(config).run(sockets=[door])


@contextlib.contextmanager
def _upgrading_replies(
    door: socket.socket, listening: Listening, on_step: OnStep
) -> Iterator[OnStep]:
    """Answer 503 while the database is upgraded. A client that connects between the end of this and
    the start of the server itself waits in the kernel's queue."""
    upgrading = Upgrading(listening)
    config = uvicorn.Config(
        upgrading.app, http=ImpatientHttp, lifespan="off", log_config=None, **UVICORN
    )
    listener = _Listener(config)
    sockets = [door.dup()]  # which it closes
    thread = threading.Thread(target=listener.run, args=(sockets,), name="upgrading", daemon=True)
    thread.start()

    def report(step: Step) -> None:
        upgrading.on_step(step)
        on_step(step)

    try:
        yield report
    finally:
        listener.end()
        thread.join()


class _Listener(uvicorn.Server):
    """Wakes once a second, not ten times, and at once when it is to end: on the machine of a server
    something is being measured."""

    _loop: asyncio.AbstractEventLoop | None = None

    async def main_loop(self) -> None:
        self._is_to_end = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        while not await self.on_tick(0):  # which also sets the date that answers have
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._is_to_end.wait(), _LOOK_AGAIN_S)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        super().handle_exit(sig, frame)
        self.end()

    def end(self) -> None:
        """From whatever thread."""
        self.should_exit = True
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._is_to_end.set)


def _bind_free_port(listening: Listening) -> tuple[socket.socket, Listening]:
    """The requested port, or the next one that is free."""
    family = socket.AF_INET6 if ":" in listening.address else socket.AF_INET
    ports = range(listening.port, listening.port + _MORE_PORTS) if listening.port else (0,)
    trouble: OSError | None = None
    for port in ports:
        door = socket.socket(family)
        door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            door.bind((listening.address, port))
            door.listen(_BACKLOG)  # from here on clients can connect
        except OSError as error:
            door.close()
            trouble = error
            continue
        return door, replace(listening, port=door.getsockname()[1])
    raise BadValue(
        f"Cannot listen on {listening.address}, port {listening.port}",
        why=trouble.strerror or str(trouble) if trouble else "",
        fix="Give another --host or --port",
    )


def _log_uncaught(
    kind: type[BaseException], error: BaseException | None, trace: TracebackType | None
) -> None:
    """Python itself would write it to standard error as it is, secrets and all."""
    if issubclass(kind, KeyboardInterrupt) or error is None:
        return
    logger.critical("uncaught exception", exc_info=(kind, error, trace))


def _log_safely(token: TokenFile, database_url: str | None) -> None:
    """To standard error, and no secret in it."""
    handler = logging.StreamHandler()
    form = "%(asctime)s %(levelname)s %(name)s: %(message)s"
    handler.setFormatter(RedactingFormatter(form, lambda: (token.current(), database_url or "")))
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    threading.excepthook = lambda crash: _log_uncaught(*crash[:3])
    logging.getLogger("uvicorn").setLevel(logging.WARNING)  # it tells of its own start and stop
