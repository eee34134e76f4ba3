"""Browsers that may come in: by a one-time code, then by a cookie, until the token changes.

(A *session* is something else here: one loaded engine.)

Sign-ins live behind the small protocol below: in a dictionary, which ends with the process, or in
the database (``store/records/sign_ins.py``), which does not.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Protocol

from modeldyno.store.records.sign_ins import MOST_SIGN_INS, SignIn

CODE_LIFETIME_S = 60.0
LIFETIME_S = 7 * 24 * 3600
MOST_CODES = 100


class SignInStore(Protocol):
    def add(self, sign_in: SignIn) -> None: ...
    def find(self, id: str) -> SignIn | None: ...
    def forget(self, id: str) -> None:
        """Like ``remove``, without waiting for a disk: every request may get here."""

    def remove(self, id: str) -> None: ...
    def remove_all(self) -> None: ...


class SignInsInMemory:
    def __init__(self) -> None:
        self._all: OrderedDict[str, SignIn] = OrderedDict()
        self._lock = threading.Lock()

    def add(self, sign_in: SignIn) -> None:
        with self._lock:
            self._all[sign_in.id] = sign_in
            while len(self._all) > MOST_SIGN_INS:
                self._all.popitem(last=False)

    def find(self, id: str) -> SignIn | None:
        return self._all.get(id)

    def remove(self, id: str) -> None:
        with self._lock:
            self._all.pop(id, None)

    def forget(self, id: str) -> None:
        self.remove(id)

    def remove_all(self) -> None:
        with self._lock:
            self._all.clear()


class SignIns:
    """``token`` tells the token as it is now: another process may rotate it at any time."""

    def __init__(
        self,
        token: Callable[[], str],
        store: SignInStore,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._token = token
        self._store = store
        self._clock = clock
        self._codes: OrderedDict[str, tuple[str, float]] = OrderedDict()
        self._lock = threading.Lock()

    def hash_if_current(self, token: str) -> str | None:
        """The token's hash when it is the right one.

        Takes as long for every wrong token, an empty one included.
        """
        hashed = _hash_text(token)
        is_right = self.is_current(hashed)
        return hashed if is_right and token else None

    def is_current(self, under: str) -> bool:
        """Whether this is the hash of the token as it is now."""
        return hmac.compare_digest(under, _hash_text(self._token()))

    def new_code(self) -> str:
        """Good once, for a minute: in a URL it gives less away than a token."""
        code = secrets.token_urlsafe(32)
        with self._lock:
            self._codes[_hash_text(code)] = (
                _hash_text(self._token()),
                self._clock() + CODE_LIFETIME_S,
            )
            while len(self._codes) > MOST_CODES:
                self._codes.popitem(last=False)
        return code

    def sign_in_with_code(self, code: str) -> tuple[str, SignIn] | None:
        """The cookie's value and its sign-in, for a code that was not used before."""
        with self._lock:
            under, until_s = self._codes.pop(_hash_text(code), ("", 0.0))
        is_good = self.is_current(under) and self._clock() < until_s
        return self._add_sign_in() if is_good else None

    def sign_in_with_token(self, token: str) -> tuple[str, SignIn] | None:
        """For a token that was given to ``/login``, in its form or in the address."""
        return self._add_sign_in() if self.hash_if_current(token) else None

    def find(self, secret: str | None) -> SignIn | None:
        """The sign-in of a cookie; None when it is unknown, over, revoked or of another token."""
        if not secret:
            return None
        sign_in = self._store.find(_hash_text(secret))
        if sign_in is None or self.is_valid(sign_in):
            return sign_in
        self._store.forget(sign_in.id)
        return None

    def is_valid(self, sign_in: SignIn) -> bool:
        """Whether it is neither over nor revoked nor made under another token."""
        is_there = self._store.find(sign_in.id) is not None
        return is_there and self._clock() < sign_in.until_s and self.is_current(sign_in.under)

    def revoke(self, id: str) -> None:
        self._store.remove(id)

    def revoke_all(self) -> None:
        self._store.remove_all()
        with self._lock:
            self._codes.clear()

    def _add_sign_in(self) -> tuple[str, SignIn]:
        secret = secrets.token_urlsafe(32)
        until_s = self._clock() + LIFETIME_S
        made = SignIn(
            _hash_text(secret), _hash_text(self._token()), secrets.token_urlsafe(32), until_s
        )
        self._store.add(made)
        return secret, made


def _hash_text(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
