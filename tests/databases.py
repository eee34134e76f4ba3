"""Real databases: a SQLite file, and a PostgreSQL server of our own for the time of the tests.

Fixtures, for the conftest of whoever needs them.
"""

from __future__ import annotations

import atexit
import fcntl
import itertools
import os
import shutil
import warnings
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from sqlalchemy import create_engine, make_url, text

from modeldyno.store.database import FILE, Database, open_database
from modeldyno.store.tables import METADATA

_numbers = itertools.count()


@pytest.fixture(scope="session")
def empty_sqlite(tmp_path_factory):
    """A database as it is made; copying it is quicker than making one for every test."""
    folder = tmp_path_factory.mktemp("sqlite")
    open_database(folder).close()
    return folder / FILE


@pytest.fixture
def sqlite(empty_sqlite, tmp_path) -> Iterator[Database]:
    shutil.copy(empty_sqlite, tmp_path / FILE)
    database = open_database(tmp_path, patience_s=5)
    yield database
    database.close()


@cache
def server_address() -> str:
    """One for all tests of a session, whichever folder asks for it first."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it wonders where to put its lock without a session
        from pgserver.postgres_server import get_server
    # Not in pytest's own folder: for root, the server runs as a user who may not look into that.
    folder = TemporaryDirectory(prefix="modeldyno-pg-")
    # For root it makes a user, if there is none: of two processes at once, one would fail.
    with Path(__file__).open() as door:
        fcntl.flock(door, fcntl.LOCK_EX)
        server = get_server(folder.name, cleanup_mode="stop")
    # What tests write need not survive a power cut, and takes a third of the time without.
    server.psql("ALTER SYSTEM SET fsync = off")
    server.psql("SELECT pg_reload_conf()")
    atexit.register(folder.cleanup)
    atexit.register(server.cleanup)
    return server.get_uri()


@pytest.fixture(scope="session")
def postgresql_server(starts_processes) -> str:
    """Its address. MODELDYNO_TEST_PG_URL names one that runs already; its databases are left alone
    but for those that we make."""
    return os.environ.get("MODELDYNO_TEST_PG_URL") or server_address()


@pytest.fixture(scope="session")
def new_postgresql(postgresql_server):
    """Makes databases, each empty and under a new name."""
    place = make_url(postgresql_server).set(drivername="postgresql+psycopg")
    engine = create_engine(place, isolation_level="AUTOCOMMIT")
    made: list[str] = []

    def make() -> str:
        name = f"modeldyno_test_{os.getpid()}_{next(_numbers)}"
        with engine.connect() as connection:
            connection.execute(text(f"CREATE DATABASE {name}"))
        made.append(name)
        return place.set(database=name).render_as_string(hide_password=False)

    yield make
    with engine.connect() as connection:
        for name in made if "MODELDYNO_TEST_PG_URL" in os.environ else ():  # ours goes whole
            connection.execute(text(f"DROP DATABASE {name} WITH (FORCE)"))
    engine.dispose()


@pytest.fixture(scope="session")
def shared_postgresql(new_postgresql, tmp_path_factory) -> Iterator[Database]:
    database = open_database(tmp_path_factory.mktemp("none"), new_postgresql(), patience_s=5)
    yield database
    database.close()


@pytest.fixture
def postgresql(shared_postgresql):
    """Empty, with numbers that begin at 1."""
    names = ", ".join(METADATA.tables)
    with shared_postgresql.writing() as connection:
        connection.execute(text(f"TRUNCATE {names} RESTART IDENTITY CASCADE"))
    return shared_postgresql
