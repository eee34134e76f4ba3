"""An answer that was given, kept so that the same request gets it again."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class KeptAnswer:
    request: str  # the hash of what was asked: under one key, nothing else may be asked
    status: int
    body: str  # JSON
    location: str | None = None
