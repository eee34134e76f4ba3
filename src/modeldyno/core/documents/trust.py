"""Which files the user of a workspace trusts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from modeldyno.core.documents.described import Described, Sha256
from modeldyno.core.trust import Tier, Trusted


@dataclass(frozen=True, slots=True, kw_only=True)
class TrustDocument(Described):
    """What `modeldyno trust --json` gives: after vouching, that one file; with --list, all; with
    --revoke, none."""

    schema: Literal["modeldyno.trust/1"] = "modeldyno.trust/1"
    """Name and version of this format."""
    trusted: tuple[Trusted, ...] = ()
    """Files that are trusted, oldest first."""
    revoked: Sha256 | None = None
    """The sha256 that is no longer trusted."""
    tier: Tier | None = None
    """What loading the file can do; null for lists."""
    can_run: bool | None = None
    """Whether an engine can run the file at all; null for lists."""
