"""Migrate a database to our version of the schema, or refuse it.

A migration is one transaction in both databases, and takes a lock: if two processes open an old
database at once, one migrates it while the other waits.
"""

from __future__ import annotations

import json
import logging
import os
import sqlite3
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, inspect, text
from sqlalchemy.exc import OperationalError

from modeldyno.core.errors import DatabaseUnusable, SchemaTooNew, WorkspaceUnusable
from modeldyno.store.upgrades import OnStep, Step, UpgradeProgress

logger = logging.getLogger(__name__)

VERSION_TABLE = "modeldyno_version"
MIGRATIONS = Path(__file__).parent / "migrations"
_LOCK = 0x6D6F64656C64796F


def dump_json(value: Any) -> str:
    """Raises ValueError for NaN and infinity, which PostgreSQL refuses."""
    return json.dumps(value, allow_nan=False)


def begin_transaction(connection: Connection, *, writes: bool = False) -> None:
    """Begin a transaction of SQLite, which Python's driver leaves to us.

    Not as a statement or event listener of SQLAlchemy, which makes a short read 50 % slower.
    """
    if connection.dialect.name != "sqlite":
        return
    driver = connection.connection.driver_connection
    assert isinstance(driver, sqlite3.Connection)
    try:
        driver.execute("BEGIN IMMEDIATE" if writes else "BEGIN")
    except sqlite3.Error as error:
        raise OperationalError("BEGIN", None, error) from error


def bring_up_to_date(engine: Engine, upgrading: UpgradeProgress | None = None) -> None:
    """Create or migrate; raises SchemaTooNew, DatabaseUnusable."""
    with engine.connect() as connection:
        before = read_revision(connection)
    if before == newest_revision():  # the usual case: no lock, and Alembic is not loaded
        return
    if before is None:
        create_tables(engine)
        return
    if upgrading is None or before not in _list_revisions():
        migrate_to(engine, "head")
        return
    with upgrading() as on_step:
        migrate_to(engine, "head", on_step)


def create_tables(engine: Engine) -> None:
    """In an empty database, as they are now. Migrations from nothing make the same, ten times as
    slowly."""
    from modeldyno.store.tables import METADATA

    with engine.connect() as connection, connection.begin():
        begin_transaction(connection, writes=True)
        _lock_schema(connection)
        if read_revision(connection) is not None:  # another process was quicker
            return
        _require_our_database(connection, None)
        METADATA.create_all(connection)
        connection.execute(
            text(
                f"CREATE TABLE {VERSION_TABLE} (version_num VARCHAR(32) NOT NULL, "
                f"CONSTRAINT {VERSION_TABLE}_pkc PRIMARY KEY (version_num))"
            )
        )
        insert = f"INSERT INTO {VERSION_TABLE} VALUES (:newest)"  # noqa: S608
        connection.execute(text(insert), {"newest": newest_revision()})


def read_revision(connection: Connection) -> str | None:
    """None for a database without our tables."""
    if not inspect(connection).has_table(VERSION_TABLE):
        return None
    number: str | None = connection.scalar(text(f"SELECT version_num FROM {VERSION_TABLE}"))  # noqa: S608
    return number


def migrate_to(engine: Engine, revision: str, on_step: OnStep = lambda _: None) -> None:
    """Up or down to a revision (``head``, ``base`` or a number), after a backup."""
    with engine.connect() as connection:
        if engine.dialect.name == "sqlite":
            # Rebuilding a table must not delete what refers to it. No effect within a transaction.
            _execute_pragma(connection, "foreign_keys = OFF")
        try:
            with connection.begin():
                begin_transaction(connection, writes=True)
                _migrate(connection, revision, on_step)
        finally:
            if engine.dialect.name == "sqlite":
                _execute_pragma(connection, "foreign_keys = ON")


def _execute_pragma(connection: Connection, words: str) -> None:
    cursor = connection.connection.cursor()
    cursor.execute(f"PRAGMA {words}")
    cursor.close()


def _migrate(connection: Connection, revision: str, on_step: OnStep) -> None:
    _lock_schema(connection)
    before = read_revision(connection)
    if revision == "head" and before == newest_revision():  # another process was quicker
        return
    _require_our_database(connection, before)
    ahead = sorted(number for number in _list_revisions() if number > (before or ""))
    if before is not None:
        on_step(Step(1, 1 + len(ahead), "a copy of the database as it is"))
        _back_up(connection, before)
    logger.info("database: from version %s to %s", before or "none", revision)

    def report_next_step(applied: str) -> None:
        for number, name in enumerate(ahead, 2):
            if name > applied:
                on_step(Step(number, 1 + len(ahead), f"to version {name} of {newest_revision()}"))
                return

    report_next_step(before or "")
    _run_alembic(connection, revision, before, report_next_step)
    if connection.dialect.name == "sqlite":
        broken = connection.exec_driver_sql("PRAGMA foreign_key_check").first()
        if broken:
            raise AssertionError(f"a migration left a dangling reference: {tuple(broken)}")


def _lock_schema(connection: Connection) -> None:
    """Until the transaction ends; one of SQLite holds its file's lock already."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:it)"), {"it": _LOCK})


def _require_our_database(connection: Connection, before: str | None) -> None:
    from modeldyno.store.tables import METADATA

    if before is None:
        taken = set(inspect(connection).get_table_names()) & set(METADATA.tables)
        if taken:
            raise DatabaseUnusable(
                "The database belongs to another program",
                why=f"it has a table {sorted(taken)[0]!r} that is not ours",
                fix="Give Modeldyno its own database in MODELDYNO_DATABASE_URL",
            )
    elif before not in _list_revisions():
        raise SchemaTooNew(
            "The database was written by a newer version of Modeldyno",
            why=f"its schema has version {before}, and this version of Modeldyno knows up to "
            f"{newest_revision()}",
            fix="Run `pip install -U modeldyno`, or choose another workspace with --workspace",
        )


def newest_revision() -> str:
    """The newest file in migrations/versions."""
    return max(_list_revisions())


@cache
def _list_revisions() -> set[str]:
    return {path.name.partition("_")[0] for path in (MIGRATIONS / "versions").glob("[0-9]*.py")}


def _run_alembic(
    connection: Connection, revision: str, before: str | None, on_applied: Callable[[str], None]
) -> None:
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    config.attributes["on_applied"] = on_applied
    is_down = revision == "base" or (
        before is not None and revision != "head" and revision < before
    )
    (command.downgrade if is_down else command.upgrade)(config, revision)


def _back_up(connection: Connection, before: str) -> None:
    """Copy a SQLite file, beside it: we hold the lock, so nobody writes meanwhile."""
    name = connection.engine.url.database
    if connection.dialect.name != "sqlite" or not name:
        return
    copy = Path(f"{name}.{before}.bak")
    temporary = copy.with_suffix(".new")
    try:
        temporary.unlink(missing_ok=True)
        source, target = sqlite3.connect(name), sqlite3.connect(temporary)
        try:
            source.backup(target)
        finally:
            source.close()
            target.close()
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        temporary.replace(copy)
    except (OSError, sqlite3.Error) as error:
        raise WorkspaceUnusable(
            "Cannot make a backup of the database before changing it",
            why=f"{error}: {copy}",
            fix="Make room there, or copy the file yourself and remove what is in the way",
        ) from error
    logger.info("database: a copy of the old version is in %s", copy)
