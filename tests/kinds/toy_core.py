"""A kind of run that Modeldyno does not have: throw a die for a model, some rounds long.

What core knows of it. The other layers have a file each, beside this one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

from modeldyno.core.documents.described import Count, Described
from modeldyno.core.documents.runnables import SummaryDocument
from modeldyno.core.documents.runs import ArtifactDocument
from modeldyno.core.exports import csv_text, write_if_given_path
from modeldyno.core.hosts import HostFacts, HostWeather
from modeldyno.core.identity import non_default_fields
from modeldyno.core.ids import RunId
from modeldyno.core.kinds import KINDS, Kind
from modeldyno.core.models import ModelFacts
from modeldyno.core.results import RunResult
from modeldyno.core.runs import Artifact
from modeldyno.core.sessions import Timings, UnitContent
from modeldyno.core.specs import ModelSpec, RunSpec


@dataclass(frozen=True)
class ToySpec(RunSpec):
    model: ModelSpec
    rounds: int = 3
    pause_s: float = 0.0  # before each round
    timeout_s: float = 60.0
    memory_limit_bytes: int | None = None
    kind: Literal["toy"] = "toy"

    unit: ClassVar[str] = "round"

    def command(self, names: Sequence[str]) -> str:
        return f"toy {names[0]} --rounds {self.rounds}"

    def identity(self) -> list[Any]:
        return [non_default_fields(self, {"rounds": 3})]


@dataclass(frozen=True)
class Round(UnitContent):
    eyes: int
    took_ns: int

    def timings(self) -> tuple[Timings, ...]:
        return (Timings("die", 1, (self.took_ns,)),)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToyDocument(Described):
    """What came of it."""

    schema: Literal["test.toy/1"] = "test.toy/1"
    run_id: str
    model: str
    eyes: tuple[Count, ...]
    interrupted: bool
    artifacts: tuple[ArtifactDocument, ...]


@dataclass(frozen=True)
class ToyResult(RunResult):
    run_id: RunId
    created_at: str
    tool_version: str
    spec: ToySpec
    model: ModelFacts
    host: HostFacts
    weather: HostWeather
    eyes: tuple[int, ...]
    interrupted: bool = False
    artifacts: tuple[Artifact, ...] = ()

    def document(self, peaks_of: Any = None) -> ToyDocument:
        return ToyDocument(
            run_id=self.run_id,
            model=self.model.path,
            eyes=self.eyes,
            interrupted=self.interrupted,
            artifacts=tuple(map(ArtifactDocument.from_fields, self.artifacts)),
        )

    def to_csv(self, path: str | Path | None = None) -> str:
        rows = [{"round": number, "eyes": eyes} for number, eyes in enumerate(self.eyes)]
        return write_if_given_path(csv_text(("round", "eyes"), rows), path)

    def headline(self) -> str:
        return f"{sum(self.eyes)} eyes in {len(self.eyes)} rounds"

    def summary(self) -> SummaryDocument:
        return SummaryDocument(samples=len(self.eyes))


def register() -> None:
    KINDS["toy"] = Kind(ToySpec, ToyResult, Round)
