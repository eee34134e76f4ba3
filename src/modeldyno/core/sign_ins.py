"""Sign-ins of browsers."""

from __future__ import annotations

from dataclasses import dataclass

MOST_SIGN_INS = 1000


@dataclass(frozen=True)
class SignIn:
    """``id`` is the hash of the cookie's value, so reading the store does not give access."""

    id: str
    under: str  # the hash of the token that it was made with; invalid with any other
    csrf: str  # sent by our page to prove that it is ours
    until_s: float
