"""Vouch for model files, and take it back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from modeldyno.core.errors import BadValue, UnsafeFormat
from modeldyno.core.models import FORMATS, Architecture, ModelFacts, Tier
from modeldyno.core.specs import ModelSpec
from modeldyno.core.trust import Trusted
from modeldyno.formats.refusals import printable_name
from modeldyno.inputs.model_overrides import refuse_needless_overrides
from modeldyno.services.requests import make_inspection_spec, model_path, parse_architecture
from modeldyno.services.runs import RunService
from modeldyno.store.models import hash_file
from modeldyno.store.trust import Trust, find_code


@dataclass(frozen=True)
class TrustGrant:
    entry: Trusted
    tier: Tier
    can_run: bool  # no engine runs a bare pickle, trusted or not
    lacks_code: bool = False  # weights without a name of the code that builds the model


class TrustService:
    def __init__(self, store: Trust, runs: RunService) -> None:
        self._store = store
        self._runs = runs

    def grant(
        self,
        file: str | Path,
        reason: str = "",
        architecture: str | None = None,
        arguments: Mapping[str, Any] | None = None,
    ) -> TrustGrant:
        """Of weights, with the code that builds the model: as given, or as the sidecar says.

        Raises what reading the file raises: only a model can be vouched for.
        """
        path = model_path(file)
        said = parse_architecture(architecture, arguments or {})
        try:
            facts = self._inspect(path, said)
        except UnsafeFormat:
            return TrustGrant(
                self._store.grant(hash_file(path), printable_name(path), reason), "code", False
            )
        code = find_code(facts)
        entry = self._store.grant(facts.sha256, printable_name(path), reason, code)
        lacks_code = facts.format == "torch-checkpoint" and code is None
        return TrustGrant(entry, FORMATS[facts.format].tier, True, lacks_code)

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

    def _inspect(self, path: Path, said: Architecture | None) -> ModelFacts:
        spec = make_inspection_spec(path)
        facts = self._runs.run(replace(spec, model=replace(spec.model, architecture=said)))
        assert isinstance(facts, ModelFacts)
        refuse_needless_overrides(ModelSpec(str(path), architecture=said), facts)
        return facts
