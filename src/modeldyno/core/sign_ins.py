"""A browser that may come in."""

from __future__ import annotations

from dataclasses import dataclass

MOST_SIGN_INS = 1000


@dataclass(frozen=True)
class SignIn:
    """``id`` is the hash of the cookie's value: who reads the store cannot come in with it."""

    id: str
    under: str  # the hash of the token it was made under; with another token it counts nothing
    csrf: str  # what our page sends along to show that it is our page
    until_s: float
