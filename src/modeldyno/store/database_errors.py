"""What a database says when it cannot, in words that help."""

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
    WorkspaceUnusable,
)


@contextmanager
def translated(place: URL) -> Iterator[None]:
    """Troubles of the database become ours; mistakes of ours (bad SQL) stay what they are."""
    try:
        yield
    except PoolTimeout as error:
        raise _busy(place, "too many of our own threads use it at once") from error
    except DBAPIError as error:
        trouble = _trouble(place, error)
        if trouble is None:
            raise
        raise trouble from error


def _trouble(place: URL, error: DBAPIError) -> ModeldynoError | None:
    said = " ".join(str(error.orig).split())
    if place.get_backend_name() == "sqlite":
        return _of_sqlite(place, said, getattr(error.orig, "sqlite_errorname", ""))
    return _of_postgresql(place, said, getattr(error.orig, "sqlstate", None), error)


def _of_sqlite(place: URL, said: str, name: str) -> ModeldynoError | None:
    match name.split("_")[:2]:
        case ["SQLITE", "BUSY" | "LOCKED"]:
            return _busy(place, "another process has been writing to it for too long")
        case ["SQLITE", "FULL"]:
            return _full(said)
        case ["SQLITE", "READONLY" | "CANTOPEN" | "PERM"]:
            return WorkspaceUnusable(
                "Cannot write the database in the workspace",
                why=f"{said}: {place.database}",
                fix="Choose another folder with --workspace or MODELDYNO_WORKSPACE",
            )
        case ["SQLITE", "NOTADB" | "CORRUPT"]:
            return DatabaseUnusable(
                f"{place.database} is damaged, or no database of ours",
                why=said,
                fix="Move it away: a new one is made. Backups, if any, lie beside it; runs keep "
                "their folders",
            )
        case ["SQLITE", "IOERR"]:
            return StorageFailed("The database could not be read or written", why=said)
        case _:
            return None


def _of_postgresql(
    place: URL, said: str, state: str | None, error: DBAPIError
) -> ModeldynoError | None:
    match state:
        case "55P03" | "40P01" | "53300" | "57014":  # lock, deadlock, connections, cancelled
            return _busy(place, said)
        case "53100":
            return _full(said)
        case "25006":
            return DatabaseUnusable(
                "The database can only be read",
                why=said,
                fix="Name the primary server in MODELDYNO_DATABASE_URL, not its replica",
            )
        case "42501" | "28P01" | "28000" | "3D000":
            return _refused(place, said)
        case None if error.connection_invalidated or _is_no_answer(error):
            return _refused(place, said)
        case _ if (state or "").startswith(("08", "57P")):  # connection lost, server stops
            return _refused(place, said)
        case _:
            return None


def _is_no_answer(error: DBAPIError) -> bool:
    return type(error.orig).__name__ in ("OperationalError", "ConnectionTimeout") and isinstance(
        error, DatabaseError
    )


def _refused(place: URL, said: str) -> DatabaseUnusable:
    return DatabaseUnusable(
        f"Cannot use the database at {place.render_as_string(hide_password=True)}",
        why=said,
        fix="See that the server is up, and that MODELDYNO_DATABASE_URL names user, password and "
        "database as they are",
    )


def _busy(place: URL, why: str) -> DatabaseBusy:
    return DatabaseBusy("The database is busy", why=why, fix="Try again in a moment")


def _full(said: str) -> StorageFailed:
    return StorageFailed(
        "There is no room for the database", why=said, fix="Free some space and try again"
    )
