"""The call of INC Bench 1.9: one model or two, measured one after the other under one id."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from modeldyno.core.ids import BenchmarkId, ModelId, ProjectId, RunId

Side = Literal["input_model", "optimized_model"]
Mode = Literal["performance", "accuracy"]


@dataclass(frozen=True, kw_only=True)
class WantedModel:
    side: Side
    path: str  # as the client gave it
    precision: str = ""
    modes: tuple[Mode, ...] = ("performance",)


@dataclass(frozen=True, kw_only=True)
class Part:
    """One of the models, and what measures it; None where nothing is to be measured."""

    wanted: WantedModel
    model_id: ModelId
    benchmark_id: BenchmarkId | None
    run_id: RunId | None


@dataclass(frozen=True, kw_only=True)
class Workload:
    id: str | int  # echoed; a client may use one twice
    name: str  # of our own file about it
    project_id: ProjectId
    parts: tuple[Part, ...]
    folder: str | None  # where config and log are wanted; None: they are in the runs' own folders
    note: str = ""  # for its finish: why config and log are not where they were wanted
    is_started: bool = False  # and told so

    @property
    def run_ids(self) -> tuple[RunId, ...]:
        return tuple(part.run_id for part in self.parts if part.run_id is not None)

    @property
    def measurements(self) -> tuple[tuple[Part, Mode], ...]:
        """In the order in which they are told."""
        return tuple((part, mode) for part in self.parts for mode in part.wanted.modes)
