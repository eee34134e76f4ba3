"""Files that runs leave behind."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from modeldyno.core import figures


@dataclass(frozen=True)
class Artifact:
    """A file that a run left behind: on the disk and hashed before anybody hears of it."""

    name: str
    sha256: str
    size_bytes: int
    kind: Literal["artifact"] = "artifact"

    @property
    def text(self) -> str:
        return f"{self.name}, {figures.size(self.size_bytes)}, SHA-256 {self.sha256}"
