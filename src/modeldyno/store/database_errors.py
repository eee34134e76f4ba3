"""Errors of SQLite and PostgreSQL as errors of ours, with what to do about them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.engine import URL
from sqlalchemy.exc import DatabaseError, DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from modeldyno.core.errors import (
    DatabaseBusy,
    DatabaseUnusable,
    ModeldynoError,
    StorageFailed,
)
from modeldyno.store.durable_files import workspace_unusable_error


@contextmanager
def translated_database_errors(place: URL) -> Iterator[None]:
    """Translate failures of the database; mistakes of ours (bad SQL) stay what they are."""
    try:
        yield
    except PoolTimeout as error:
        raise _database_busy_error(place, "too many of our own threads use it at once") from error
    except DBAPIError as error:
        translation = _translate_error(place, error)
        if translation is None:
            raise
        raise translation from error


def _translate_error(place: URL, error: DBAPIError) -> ModeldynoError | None:
    message = " ".join(str(error.orig).split())
    if place.get_backend_name() == "sqlite":
        return _translate_sqlite_error(place, message, getattr(error.orig, "sqlite_errorname", ""))
    return _translate_postgresql_error(place, message, getattr(error.orig, "sqlstate", None), error)


def _translate_sqlite_error(place: URL, message: str, name: str) -> ModeldynoError | None:
    match name.split("_")[:2]:
        case ["SQLITE", "BUSY" | "LOCKED"]:
            return _database_busy_error(
                place, "another process has been writing to it for too long"
            )
        case ["SQLITE", "FULL"]:
            return _disk_full_error(message)
        case ["SQLITE", "READONLY" | "CANTOPEN" | "PERM"]:
            title = "Cannot write the database in the workspace"
            return workspace_unusable_error(title, f"{message}: {place.database}")
        case ["SQLITE", "NOTADB" | "CORRUPT"]:
            return DatabaseUnusable(
                f"{place.database} is damaged, or not a Modeldyno database",
                why=message,
                fix="Move it away: a new one is made. Backups, if any, lie beside it; runs keep "
                "their folders",
            )
        case ["SQLITE", "IOERR"]:
            return StorageFailed("The database could not be read or written", why=message)
        case _:
            return None


def _translate_postgresql_error(
    place: URL, message: str, state: str | None, error: DBAPIError
) -> ModeldynoError | None:
    match state:
        case "55P03" | "40P01" | "53300" | "57014":  # lock, deadlock, connections, cancelled
            return _database_busy_error(place, message)
        case "53100":
            return _disk_full_error(message)
        case "25006":
            return DatabaseUnusable(
                "The database can only be read",
                why=message,
                fix="Name the primary server in MODELDYNO_DATABASE_URL, not its replica",
            )
        case "42501" | "28P01" | "28000" | "3D000":
            return _database_refused_error(place, message)
        case None if error.connection_invalidated or _is_connection_lost(error):
            return _database_refused_error(place, message)
        case _ if (state or "").startswith(("08", "57P")):  # connection lost, server stops
            return _database_refused_error(place, message)
        case _:
            return None


def _is_connection_lost(error: DBAPIError) -> bool:
    return type(error.orig).__name__ in ("OperationalError", "ConnectionTimeout") and isinstance(
        error, DatabaseError
    )


def _database_refused_error(place: URL, message: str) -> DatabaseUnusable:
    return DatabaseUnusable(
        f"Cannot use the database at {place.render_as_string(hide_password=True)}",
        why=message,
        fix="Check that the server is running, and that MODELDYNO_DATABASE_URL has the right user, "
        "password and database",
    )


def _database_busy_error(place: URL, why: str) -> DatabaseBusy:
    return DatabaseBusy("The database is busy", why=why, fix="Try again in a moment")


def _disk_full_error(message: str) -> StorageFailed:
    return StorageFailed(
        "There is no room for the database", why=message, fix="Free some space and try again"
    )
