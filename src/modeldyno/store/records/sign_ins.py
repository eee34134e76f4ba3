"""Sign-ins in the database, so that they survive a restart of the server.

Only one server uses a database, so it reads them once, at the start: looking one up, as every
request does, waits for no disk and no network.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass

from sqlalchemy import delete, insert, select

from modeldyno.store.database import Database
from modeldyno.store.records.rows import dataclass_from_row
from modeldyno.store.tables import SIGN_INS

MOST_SIGN_INS = 1000


@dataclass(frozen=True)
class SignIn:
    """``id`` is the hash of the cookie's value, so reading the store does not give access."""

    id: str
    under: str  # the hash of the token that it was made with; invalid with any other
    csrf: str  # sent by our page to prove that it is ours
    until_s: float


class SignInRecords:
    def __init__(self, database: Database, clock: Callable[[], float] = time.time) -> None:
        self._database = database
        self._clock = clock
        self._lock = threading.Lock()
        query = select(SIGN_INS).order_by(SIGN_INS.c.until_s)
        with database.reading() as connection:
            rows = connection.execute(query).all()
        self._all = {row.id: dataclass_from_row(SignIn, row) for row in rows}
        self._forgotten: list[str] = []  # their rows are deleted with the next change

    def add(self, sign_in: SignIn) -> None:
        """Also removes expired ones, and the oldest if there are too many."""
        with self._lock, self._database.writing() as connection:
            now_s = self._clock()
            known = sorted(self._all.values(), key=lambda other: other.until_s)
            forgotten = tuple(self._forgotten)  # others may be forgotten while we write
            expired = [other.id for other in known if other.until_s <= now_s]
            too_many = [other.id for other in known[: max(0, len(known) + 1 - MOST_SIGN_INS)]]
            removed = (*expired, *forgotten, *too_many)
            connection.execute(delete(SIGN_INS).where(SIGN_INS.c.id.in_(removed)))
            connection.execute(insert(SIGN_INS).values(asdict(sign_in)))
            del self._forgotten[: len(forgotten)]
            for id in removed:
                self._all.pop(id, None)
            self._all[sign_in.id] = sign_in

    def find(self, id: str) -> SignIn | None:
        return self._all.get(id)

    def forget(self, id: str) -> None:
        if self._all.pop(id, None) is not None:
            self._forgotten.append(id)

    def remove(self, id: str) -> None:
        with self._lock, self._database.writing() as connection:
            self._all.pop(id, None)
            connection.execute(delete(SIGN_INS).where(SIGN_INS.c.id == id))

    def remove_all(self) -> None:
        with self._lock, self._database.writing() as connection:
            self._all.clear()
            connection.execute(delete(SIGN_INS))
