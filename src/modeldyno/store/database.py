"""Open the database; read and write it in transactions.

Writers take turns, in SQLite (``BEGIN IMMEDIATE``) as in PostgreSQL (a lock that ends with the
transaction). So what a writer has read stays true until it commits, and events get their numbers in
the order in which they become visible.
"""

from __future__ import annotations

import select
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, PoolProxiedConnection, create_engine, event, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import (
    ArgumentError,
    InvalidatePoolError,
    NoSuchModuleError,
)

from modeldyno.core.errors import DatabaseUnusable
from modeldyno.settings import DATABASE_FILE
from modeldyno.store import schema
from modeldyno.store.database_errors import translated_database_errors
from modeldyno.store.durable_files import workspace_unusable_error
from modeldyno.store.upgrades import UpgradeProgress

FILE = DATABASE_FILE
PATIENCE_S = 10.0
CONNECTIONS = (
    40  # kept open, one for each thread of a server, since opening one takes a millisecond
)
# Any number that no other program locks: "modeldyn" in ASCII.
WRITERS = 0x6D6F64656C64796E
_USED_AT = "modeldyno_used_at"
_FRESH_S = 5.0  # after so long, a silent connection is checked before use
_MORE = 5  # for our own threads, beside those that answer requests
WRITING_CONNECTIONS = 5  # PostgreSQL: one writes, others wait; a server has 100 in all


class Database:
    """One for each process; threads share it.

    Inside ``writing()``, all that the same thread reads or writes is part of that transaction, so
    several methods of repositories can be combined into one transaction.
    """

    def __init__(self, engine: Engine, reading_engine: Engine) -> None:
        self.engine = engine
        self.reading_engine = reading_engine
        self._idle_readers: list[PoolProxiedConnection] = []
        self._of_thread = threading.local()
        self._listeners: list[Callable[[], None]] = []
        self._counter: sqlite3.Connection | None = None

    def add_write_listener(self, listener: Callable[[], None]) -> None:
        """Called after each commit, in the thread that wrote; must be quick and must not raise."""
        self._listeners.append(listener)

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Committed data; in SQLite, a snapshot."""
        if (current := self._connection_of_open_transaction()) is not None:
            yield current
            return
        with translated_database_errors(self.engine.url):
            connection = self._connect_reader()
            try:
                schema.begin_transaction(connection)
                yield connection
                _end_read(connection)
                self._idle_readers.append(connection.connection)
            except BaseException:
                connection.close()
                raise

    def _connect_reader(self) -> Connection:
        """A connection for reading stays checked out until it has to be checked again: checkout
        and checkin take longer than a short query."""
        while self._idle_readers:
            try:
                idle = self._idle_readers.pop()  # the last one used: its caches are warm
            except IndexError:  # another thread took it
                break
            if _is_alive(idle):
                return Connection(self.reading_engine, idle)
            idle.close()
        return self.reading_engine.connect()

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """One transaction; there is one writer at a time."""
        if (current := self._connection_of_open_transaction()) is not None:
            yield current
            return
        with (
            translated_database_errors(self.engine.url),
            self.engine.connect() as connection,
            connection.begin(),
        ):
            schema.begin_transaction(connection, writes=True)
            if self.engine.dialect.name == "postgresql":
                connection.execute(text("SELECT pg_advisory_xact_lock(:it)"), {"it": WRITERS})
            self._of_thread.writer = connection
            try:
                yield connection
            finally:
                self._of_thread.writer = None
        for listener in self._listeners:
            listener()

    def change_counter(self) -> int | None:
        """A number that changes with each commit of any process; None if unknown (PostgreSQL).

        For one thread only. Quick: SQLite looks at the head of its log.
        """
        if self.engine.dialect.name != "sqlite":
            return None
        try:
            if self._counter is None:
                self._counter = sqlite3.connect(
                    str(self.engine.url.database), timeout=0, check_same_thread=False
                )
            return int(self._counter.execute("PRAGMA data_version").fetchone()[0])
        except sqlite3.Error:
            return None

    def _connection_of_open_transaction(self) -> Connection | None:
        """The connection of the transaction that this thread is in."""
        connection: Connection | None = getattr(self._of_thread, "writer", None)
        return connection

    def close(self) -> None:
        while self._idle_readers:
            self._idle_readers.pop().close()
        self.engine.dispose()
        self.reading_engine.dispose()
        if self._counter is not None:
            self._counter.close()
            self._counter = None


def open_database(
    workspace: Path,
    url: str | None = None,
    patience_s: float = PATIENCE_S,
    upgrading: UpgradeProgress | None = None,
) -> Database:
    """The database at ``url``, or the file in the workspace; created or migrated if needed.
    ``upgrading`` reports the steps of an upgrade. Raises DatabaseUnusable or WorkspaceUnusable."""
    place = _parse_database_url(url) if url else _make_sqlite_url(workspace)
    engine = _create_engine(place, patience_s)
    try:
        with translated_database_errors(place):
            schema.bring_up_to_date(engine, upgrading)
    except BaseException:
        engine.dispose()
        raise
    return Database(engine, _create_reading_engine(engine, patience_s))


def _make_sqlite_url(workspace: Path) -> URL:
    try:
        workspace.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        why = f"{error.strerror}: {workspace}"
        raise workspace_unusable_error("Cannot make the workspace folder", why) from error
    return URL.create("sqlite", database=str(workspace / FILE))


def _parse_database_url(url: str) -> URL:
    try:
        place = make_url(url)
    except (ArgumentError, ValueError) as error:
        # Without the text itself, which may hold a password.
        raise _bad_url_error("it cannot be read as an address") from error
    match place.get_backend_name():
        case "sqlite" if place.database and place.database != ":memory:":
            return place.set(drivername="sqlite")
        case "sqlite":
            raise _bad_url_error("a SQLite database needs a file")
        case "postgresql" | "postgres":
            return place.set(drivername="postgresql+psycopg")
        case other:
            raise _bad_url_error(f"we know SQLite and PostgreSQL, not {other!r}")


def _bad_url_error(why: str) -> DatabaseUnusable:
    return DatabaseUnusable(
        "MODELDYNO_DATABASE_URL is not the address of a supported database",
        why=why,
        fix="Write postgresql://user:password@host/database, or leave it out to use a file in the "
        "workspace",
    )


def _create_engine(place: URL, patience_s: float) -> Engine:
    if place.get_backend_name() == "sqlite":
        return _create_sqlite_engine(place, patience_s)
    return _create_postgresql_engine(
        place, patience_s, pool_size=WRITING_CONNECTIONS, max_overflow=0
    )


def _create_postgresql_engine(place: URL, patience_s: float, **options: Any) -> Engine:
    try:
        engine = create_engine(place, json_serializer=schema.dump_json, **options)
    except (ImportError, NoSuchModuleError) as error:
        raise DatabaseUnusable(
            "PostgreSQL needs a driver that is not installed",
            why="there is no Python package 'psycopg'",
            fix="Run `pip install 'modeldyno[postgres]'`",
        ) from error
    waits = f"SET lock_timeout = {int(patience_s * 1000)}"

    def prepare_connection(connection: Any, _record: object) -> None:
        connection.execute(waits)
        connection.execute("SET timezone = 'UTC'")
        connection.commit()

    def replace_if_closed(connection: Any, record: Any, _proxy: object) -> None:
        """Replace connections that a restart of the server has closed. A server that stops sends a
        message, which can be seen without a query."""
        try:
            is_fresh = time.monotonic() - record.info[_USED_AT] < _FRESH_S
            if not is_fresh or _has_input(connection.fileno()):
                engine.dialect.do_ping(connection)
        except (engine.dialect.loaded_dbapi.Error, OSError) as error:
            raise InvalidatePoolError from error

    def note_time_of_use(_connection: Any, record: Any) -> None:
        record.info[_USED_AT] = time.monotonic()

    event.listen(engine, "connect", prepare_connection)
    event.listen(engine, "connect", note_time_of_use)
    event.listen(engine, "checkout", replace_if_closed)
    event.listen(engine, "checkin", note_time_of_use)
    return engine


def _end_read(connection: Connection) -> None:
    """End a read; the connection stays open."""
    if connection.in_transaction():
        connection.rollback()
    elif connection.dialect.name == "sqlite":
        connection.connection.rollback()
    connection.info[_USED_AT] = time.monotonic()


def _is_alive(idle: PoolProxiedConnection) -> bool:
    """Without a round trip; False if unsure."""
    driver: Any = idle.driver_connection
    if isinstance(driver, sqlite3.Connection):
        return True
    is_fresh = time.monotonic() - idle.info[_USED_AT] < _FRESH_S
    return is_fresh and not _has_input(driver.fileno())


def _has_input(descriptor: int) -> bool:
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(0))


def _create_reading_engine(engine: Engine, patience_s: float) -> Engine:
    """PostgreSQL shows each statement what was committed before it, in a transaction or not;
    without one, two round trips are saved. The pool is separate, since switching the isolation
    level of a connection takes longer than reading a row."""
    if engine.dialect.name != "postgresql":
        return engine
    options = {"pool_size": CONNECTIONS, "max_overflow": _MORE, "isolation_level": "AUTOCOMMIT"}
    return _create_postgresql_engine(engine.url, patience_s, **options)


def _create_sqlite_engine(place: URL, patience_s: float) -> Engine:
    engine = create_engine(
        place,
        json_serializer=schema.dump_json,
        connect_args={"timeout": patience_s},
        pool_size=CONNECTIONS,
    )

    def prepare_connection(connection: sqlite3.Connection, _record: object) -> None:
        connection.isolation_level = None  # we say BEGIN ourselves, and which kind
        _enter_wal(connection, patience_s)
        connection.execute("PRAGMA synchronous = FULL")  # what is committed survives a power cut
        connection.execute("PRAGMA foreign_keys = ON")

    event.listen(engine, "connect", prepare_connection)
    return engine


def _enter_wal(connection: sqlite3.Connection, patience_s: float) -> None:
    """With WAL, readers and the writer do not wait for each other. The file remembers the mode;
    while another process switches it, SQLite does not wait, so we do. If the file system does not
    support WAL, everything works, with more waiting."""
    deadline = time.monotonic() + patience_s
    while connection.execute("PRAGMA journal_mode").fetchone() != ("wal",):
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.01)
        else:
            return
