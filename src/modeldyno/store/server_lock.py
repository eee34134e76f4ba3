"""One server for a workspace, and one for a database: a second one is told who was first.

Both locks end with the process, however it ends.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from sqlalchemy import text

from modeldyno.core.errors import ServerRunning, WorkspaceUnusable
from modeldyno.store.database import Database

FILE = "server.json"
_DATABASE = 0x6D6F64656C647376  # any number that nobody else locks: "modeldsv" in ASCII


@dataclass(frozen=True)
class RunningServer:
    """Where the server of a workspace listens; for the terminal, which may want to talk to it."""

    pid: int
    url: str


class ServerLock:
    """Taken for as long as a server has this workspace."""

    def __init__(self, workspace: Path) -> None:
        self._path = workspace / FILE
        self._descriptor: int | None = None

    @contextlib.contextmanager
    def held(self) -> Iterator[ServerLock]:
        """Raises ServerRunning when another server has the workspace."""
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise WorkspaceUnusable(
                "Cannot write to the workspace",
                why=f"{error.strerror}: {self._path.parent}",
                fix="Choose another folder with --workspace or MODELDYNO_WORKSPACE",
            ) from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            raise _taken(running_server(self._path.parent)) from None
        self._descriptor = descriptor
        try:
            self._write(b"")
            yield self
        finally:
            self._write(b"")
            self._descriptor = None
            os.close(descriptor)

    def announce(self, url: str) -> None:
        """Where the server listens, once it does."""
        self._write(json.dumps(asdict(RunningServer(os.getpid(), url))).encode())

    def _write(self, data: bytes) -> None:
        assert self._descriptor is not None
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, data, 0)


def running_server(workspace: Path) -> RunningServer | None:
    """The server that has this workspace, if one has and listens."""
    try:
        descriptor = os.open(workspace / FILE, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        told = json.loads(os.pread(descriptor, 4096, 0)) if _is_held(descriptor) else None
        return RunningServer(int(told["pid"]), str(told["url"])) if told else None
    except (ValueError, KeyError, TypeError):  # it does not listen yet
        return None
    finally:
        os.close(descriptor)


def _is_held(descriptor: int) -> bool:
    """Whether anybody has the lock: what the file says may be of a server that is gone."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    return False


@contextlib.contextmanager
def sole_server(database: Database) -> Iterator[None]:
    """The same for a database that several machines reach; a file is locked with its workspace."""
    if database.engine.dialect.name != "postgresql":
        yield
        return
    # A connection of its own: the lock belongs to it, and ends with it.
    with database.engine.connect() as connection:
        is_ours = connection.scalar(text("SELECT pg_try_advisory_lock(:it)"), {"it": _DATABASE})
        connection.commit()
        if not is_ours:
            raise _taken(None)
        try:
            yield
        finally:
            connection.execute(text("SELECT pg_advisory_unlock(:it)"), {"it": _DATABASE})
            connection.commit()


def _taken(first: RunningServer | None) -> ServerRunning:
    where = f"it is process {first.pid}, at {first.url}" if first else "it has its queue already"
    return ServerRunning(
        "Another server uses this workspace or database",
        why=where,
        fix="Use that one, stop it, or give this one a --workspace of its own",
    )
