"""Files that runs leave behind."""

from __future__ import annotations

from dataclasses import dataclass

from modeldyno.core.artifacts import Artifact
from modeldyno.core.documents.described import Count, Described, Sha256


@dataclass(frozen=True, slots=True, kw_only=True)
class ArtifactDocument(Described):
    """A file that a run left."""

    name: str
    """Unique within the run."""
    sha256: Sha256
    """Of its content."""
    size_bytes: Count
    """Of its content."""

    @classmethod
    def of(cls, artifact: Artifact) -> ArtifactDocument:
        return cls.from_fields(artifact)
