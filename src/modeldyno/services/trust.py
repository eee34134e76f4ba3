"""Vouch for model files, and take it back."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from modeldyno.core.errors import BadValue, UnsafeFormat
from modeldyno.core.models import ModelFacts
from modeldyno.core.trust import TIERS, Tier
from modeldyno.formats.refusals import shown
from modeldyno.services.requests import inspection_spec, model_path
from modeldyno.services.runs import RunService
from modeldyno.store.models import hash_file
from modeldyno.store.trust import Trust, Trusted


@dataclass(frozen=True)
class Granted:
    entry: Trusted
    tier: Tier
    can_run: bool  # no engine runs a bare pickle, trusted or not


class TrustService:
    def __init__(self, store: Trust, runs: RunService) -> None:
        self._store = store
        self._runs = runs

    def grant(self, file: str | Path, reason: str = "") -> Granted:
        """Raises what reading the file raises: only a model can be vouched for."""
        path = model_path(file)
        sha256, tier, can_run = self._look(path)
        return Granted(self._store.grant(sha256, shown(path), reason), tier, can_run)

    def revoke(self, file_or_sha256: str) -> str:
        """The hash that is no longer trusted; raises BadValue when it was not."""
        path = Path(file_or_sha256).expanduser()
        sha256 = hash_file(path) if path.is_file() else file_or_sha256.lower()
        if not self._store.revoke(sha256):
            raise BadValue(
                f'"{file_or_sha256}" is not trusted',
                why="no trusted file has this content",
                fix="See `modeldyno trust --list`; a file that is gone is revoked by its sha256",
            )
        return sha256

    def all(self) -> tuple[Trusted, ...]:
        return self._store.all()

    def _look(self, path: Path) -> tuple[str, Tier, bool]:
        try:
            facts = self._runs.run(inspection_spec(path))
        except UnsafeFormat:
            return hash_file(path), "code", False
        assert isinstance(facts, ModelFacts)
        return facts.sha256, TIERS[facts.format], True
