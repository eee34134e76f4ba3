"""One server for a workspace, and one for a database: a second one is told who was first.

Both locks end with the process, however it ends.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from sqlalchemy import text

from modeldyno.core.errors import ServerRunning, WorkspaceUnusable
from modeldyno.server_file import FILE, RunningServer, running_server
from modeldyno.store.database import Database

_DATABASE = 0x6D6F64656C647376  # any number that nobody else locks: "modeldsv" in ASCII


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
