"""One server for a workspace, and one for a database: a second one is refused.

Both locks end with the process, however it ends.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path

from sqlalchemy import Connection, text
from sqlalchemy.exc import SQLAlchemyError

from modeldyno.core.errors import ServerRunning
from modeldyno.server_file import FILE, RunningServer, running_server
from modeldyno.store.database import Database
from modeldyno.store.database_errors import translated_database_errors
from modeldyno.store.durable_files import workspace_unusable_error
from modeldyno.store.file_locks import is_locked

PATIENCE_S = 1.0
DATABASE_PATIENCE_S = 5.0  # until PostgreSQL notices that a server was killed
_DATABASE = 0x6D6F64656C647376  # any number that no other program locks: "modeldsv" in ASCII


class ServerLock:
    """Held for as long as a server uses this workspace."""

    def __init__(self, workspace: Path) -> None:
        self._path = workspace / FILE
        self._descriptor: int | None = None

    @contextlib.contextmanager
    def held(self) -> Iterator[ServerLock]:
        """Raises ServerRunning if another server uses the workspace."""
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            why = f"{error.strerror}: {self._path.parent}"
            raise workspace_unusable_error("Cannot write to the workspace", why) from error
        if not _retry_until(lambda: is_locked(descriptor), PATIENCE_S):
            os.close(descriptor)
            raise _taken_error(running_server(self._path.parent))
        self._descriptor = descriptor
        try:
            self._write(b"")
            yield self
        finally:
            self._write(b"")
            self._descriptor = None
            os.close(descriptor)

    def announce(self, url: str) -> None:
        """Write down where the server listens."""
        self._write(json.dumps(asdict(RunningServer(os.getpid(), url))).encode())

    def _write(self, data: bytes) -> None:
        assert self._descriptor is not None
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, data, 0)


def _retry_until(attempt: Callable[[], bool], patience_s: float) -> bool:
    """Retried, since a process that looks for the server holds the lock for a moment, and the lock
    of a killed server is released a little after its end."""
    deadline = time.monotonic() + patience_s
    while not attempt():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


class SoleServer:
    """A lock on a database that several machines can reach; a SQLite file is locked with its
    workspace.

    The lock belongs to a connection, and ends with it, also when the database restarts. So whoever
    relies on it calls ``require_still_sole`` now and then.
    """

    def __init__(self, database: Database) -> None:
        self._engine = database.engine
        self._connection: Connection | None = None

    @contextlib.contextmanager
    def held(self) -> Iterator[SoleServer]:
        """Raises ServerRunning if another server uses the database."""
        if self._engine.dialect.name != "postgresql":
            yield self
            return
        if not _retry_until(self._try_to_lock, DATABASE_PATIENCE_S):
            raise _taken_error(None)
        try:
            yield self
        finally:
            self._release()

    def require_still_sole(self) -> None:
        """Take the lock again if it was lost. Raises ServerRunning if another server has it now,
        and DatabaseUnusable if the database cannot be reached."""
        if self._engine.dialect.name != "postgresql" or self._is_connection_alive():
            return
        self._release()
        with translated_database_errors(self._engine.url):
            is_ours = self._try_to_lock()
        if not is_ours:
            raise _taken_error(None)

    def _try_to_lock(self) -> bool:
        connection = self._engine.connect()
        # An open transaction would keep PostgreSQL from vacuuming.
        connection = connection.execution_options(isolation_level="AUTOCOMMIT")
        taken = connection.scalar(text("SELECT pg_try_advisory_lock(:it)"), {"it": _DATABASE})
        if taken:
            self._connection = connection
        else:
            connection.close()
        return bool(taken)

    def _is_connection_alive(self) -> bool:
        try:
            return self._connection is not None and self._connection.scalar(text("SELECT 1")) == 1
        except SQLAlchemyError:
            return False

    def _release(self) -> None:
        """Close the connection: in the pool, its next user would inherit the lock."""
        if self._connection is not None:
            with contextlib.suppress(SQLAlchemyError):
                self._connection.execute(text("SELECT pg_advisory_unlock(:it)"), {"it": _DATABASE})
            with contextlib.suppress(SQLAlchemyError):
                self._connection.invalidate()
            with contextlib.suppress(SQLAlchemyError):
                self._connection.close()
            self._connection = None


def _taken_error(first: RunningServer | None) -> ServerRunning:
    return ServerRunning(
        "Another server uses this workspace or database",
        why=f"it is process {first.pid}, at {first.url}" if first else "it has its queue already",
        fix="Use that one, stop it, or give this one another --workspace",
    )
