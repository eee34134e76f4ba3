"""What changes from one profile to another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from modeldyno.core.documents.described import Described, RunName, Size
from modeldyno.core.documents.figure import Figure
from modeldyno.core.names import shown_name
from modeldyno.core.profile_diffs import (
    By,
    Change,
    MatchedBy,
    Part,
    ProfileDiff,
    Standing,
    Verdict,
    diff_sentence,
)
from modeldyno.core.results import ProfileResult


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffPartDocument(Described):
    """One node, or several that do the work of the other side's."""

    names: tuple[str, ...]
    """Names of nodes, or of operators."""
    op_types: tuple[str, ...]
    """Kinds of operators."""
    providers: tuple[str, ...]
    """What ran them."""
    nodes: Size
    """How many nodes."""
    total_ms: Figure
    """In one call of the model."""

    @classmethod
    def of(cls, part: Part, repeats: int) -> DiffPartDocument:
        return cls.from_fields(part, total_ms=Figure.of_span(part.total_s, part.ci95_s, repeats))


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeDocument(Described):
    """A node or an operator, and its counterpart."""

    name: str
    """What it is called."""
    standing: Standing
    """`moved`: in both, at another place in the order of execution, or run by another provider."""
    matched_by: MatchedBy | None
    """How the counterpart was found: by its name, by the model's nodes it is made of, by operator
    and place, or by its kind of work; null where there is none."""
    verdict: Verdict
    """Faster or slower where the intervals do not overlap; not comparable: measured on two
    machines."""
    delta_ms: float
    """B less A."""
    a: DiffPartDocument | None
    """What A has of it; null: nothing."""
    b: DiffPartDocument | None
    """What B has of it; null: nothing."""

    @classmethod
    def of(cls, change: Change, diff: ProfileDiff) -> ChangeDocument:
        return cls.from_fields(
            change,
            delta_ms=change.delta_s * 1e3,
            a=DiffPartDocument.of(change.a, diff.a.repeats) if change.a else None,
            b=DiffPartDocument.of(change.b, diff.b.repeats) if change.b else None,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffSideDocument(Described):
    """One of the two profiles."""

    run_id: RunName
    """Name of the run's folder in the workspace."""
    model: str
    """Name of the model's file."""
    engine: str
    """Engine that ran it."""
    engine_version: str
    """Its version."""
    latency_ms: Figure
    """Typical time of a call without the profiler."""
    repeats: Size
    """Fresh sessions that were measured."""

    @classmethod
    def of(cls, result: ProfileResult) -> DiffSideDocument:
        return cls(
            run_id=result.run_id,
            model=shown_name(result.model.path),
            engine=result.facts.engine,
            engine_version=result.facts.engine_version,
            latency_ms=Figure.of_span(
                result.latency_s, result.ci95_s_by_figure.get("latency"), result.repeats
            ),
            repeats=result.repeats,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileDiffDocument(Described):
    """What `modeldyno profile --against RUN --json` and `modeldyno show RUN --against RUN --json`
    print: what changes from profile A to profile B."""

    schema: Literal["modeldyno.profile-diff/2"] = "modeldyno.profile-diff/2"
    """Name and version of this format."""
    by: By
    """Whether changes are of nodes or of operators."""
    a: DiffSideDocument
    """The profile before."""
    b: DiffSideDocument
    """The profile after."""
    delta_ms: float
    """Latency of B less that of A."""
    verdict: Verdict
    """Faster or slower where the intervals do not overlap."""
    text: str
    """The same in words."""
    differences: tuple[str, ...]
    """What was not the same in how they were measured."""
    changes: tuple[ChangeDocument, ...]
    """The largest first."""

    @classmethod
    def of(cls, diff: ProfileDiff) -> ProfileDiffDocument:
        return cls.from_fields(
            diff,
            a=DiffSideDocument.of(diff.a),
            b=DiffSideDocument.of(diff.b),
            delta_ms=diff.delta_s * 1e3,
            text=diff_sentence(diff),
            changes=tuple(ChangeDocument.of(change, diff) for change in diff.changes),
        )
