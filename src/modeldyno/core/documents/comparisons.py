"""Comparisons as a server keeps them: lines of lists, and all that is known of one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from modeldyno.core.documents.described import Amount, Count, Described, Size
from modeldyno.core.documents.runnables import LatestRunSummary, RunnableHead
from modeldyno.core.documents.summary import SummaryDocument
from modeldyno.core.requests.bounds import Doc
from modeldyno.core.requests.measuring import SideRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class SideSettingsDocument(SideRequest):
    """One side, as it was requested."""

    label: Annotated[str, Doc("Name of its model's file.", "resnet50.onnx")]


@dataclass(frozen=True, slots=True, kw_only=True)
class PairingDocument(Described):
    """How two sides are compared, as it was requested."""

    a: SideSettingsDocument
    """What B is held against."""
    b: SideSettingsDocument
    """What is held against A."""
    margin: Amount
    """Within which a difference does not matter, as a part of 1."""
    budget_s: Amount
    """Time to measure."""
    pairs: Size | None
    """Exactly so many, instead of a budget."""
    adaptive: bool
    """Whether it ends early when the verdict is clear."""
    timeout_s: Amount
    """For each answer of a worker."""
    memory_limit_bytes: Count | None
    """Of a worker."""
    seed: int
    """Of inputs and orders."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonSummary(RunnableHead):
    """A line of a list of comparisons."""

    a_model_id: Size
    """Number of A's model."""
    b_model_id: Size
    """Number of B's model."""
    rerun_of: Size | None
    """The comparison that this one repeats."""
    summary: SummaryDocument
    """Of its latest run."""
    sentence: str | None
    """The verdict of its latest run: "B is 1.31× faster than A (1.24–1.38, 95 %)."; null before it
    has one."""
    sentence_by_name: str | None
    """The same, with both sides by what tells them apart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonDetailsDocument(ComparisonSummary):
    """A comparison: its two sides, its latest run, and the verdict."""

    a_model_name: str
    """Of A's model."""
    b_model_name: str
    """Of B's model."""
    pairing: PairingDocument
    """How they are compared."""
    latest_run: LatestRunSummary | None
    """Null before the first."""
    command: str
    """Compares the same in a terminal."""
