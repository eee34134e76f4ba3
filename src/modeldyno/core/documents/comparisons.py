"""Comparisons: the result of one, and what a server keeps of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from modeldyno.core.deviations import Deviation
from modeldyno.core.documents.cells import EffectiveDocument, RankedHead, SideHead
from modeldyno.core.documents.described import (
    Amount,
    Count,
    Described,
    Schema,
    Share,
    Size,
    to_milliseconds,
)
from modeldyno.core.documents.failures import FailureDocument
from modeldyno.core.documents.figures import Figure, LevelDocument
from modeldyno.core.documents.hosts import WeatherDocument
from modeldyno.core.documents.models import ModelDocument
from modeldyno.core.documents.runnables import LatestRunSummary, RunnableHead, SummaryDocument
from modeldyno.core.documents.runs import ArtifactDocument, ResultHead
from modeldyno.core.hosts import HostFacts
from modeldyno.core.rankings import Ranked, Ranking
from modeldyno.core.requests.axes import axis_fields, axis_names
from modeldyno.core.requests.checking import Doc
from modeldyno.core.requests.measuring import SideRequest
from modeldyno.core.results import ComparisonResult, Gate, Noise, SideResult, Statistic, Verdict
from modeldyno.core.sessions import CallContract, Parity


@dataclass(frozen=True, slots=True, kw_only=True)
class SideDocument(SideHead):
    """One side. Its latencies are for orientation: the ratio is the result."""

    call_contract: CallContract
    """What one call includes: hot, api or e2e."""
    sandbox: Annotated[str, Schema(pattern=r"^(full|(partial|none) \(.+\))$")] | None
    """How far the worker was confined: full, or partial or none with what was missing in
    brackets."""
    effective: EffectiveDocument
    """As what it really ran."""
    surprises: tuple[Deviation, ...]
    """Where it is not what was requested, in plain words: silent defaults of the engine, and
    outputs that hold NaN, infinity or one value everywhere."""
    latency_ms: LevelDocument
    """Geometric means over the pairs."""

    @classmethod
    def of(cls, side: SideResult) -> SideDocument:
        return cls.from_fields(
            side,
            model=ModelDocument.of(side.model),
            **axis_fields(side.ran, cls),
            call_contract=side.contract,
            sandbox=str(side.sandbox) if side.sandbox else None,
            effective=EffectiveDocument.of(side.facts),
            latency_ms=LevelDocument.of(
                Figure(value=side.typical_s * 1e3), Figure(value=side.floor_s * 1e3)
            ),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class GateDocument(Described):
    """What `--fail-if-slower` comes to."""

    fail_if_slower: Amount
    """By how much B may be slower than A: 0.05 is 5 %."""
    outcome: Gate
    """Whether the whole interval of the ratio is within that, beyond it, or neither."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonDocument(ResultHead):
    """What `modeldyno compare --json` and `ComparisonResult.to_json()` give."""

    schema: Literal["modeldyno.comparison/2"] = "modeldyno.comparison/2"
    """Name and version of this format."""
    verdict: Verdict
    """What the interval allows to be said of B (docs/measuring.md, verdicts)."""
    ratio: Figure
    """time(B) ÷ time(A); per item when the batch sizes differ. Above 1: B is slower. Its interval
    is over pairs, or over processes when these differ so much that they must be the unit."""
    margin: Annotated[float, Schema(exclusiveMinimum=0, exclusiveMaximum=1)]
    """Differences below this do not matter (--margin)."""
    gate: GateDocument | None
    """Null without --fail-if-slower."""
    statistic: Statistic
    """What was compared in each pair: the 10th percentile of wall time, or the lower quartile of
    CPU time for long calls on one thread."""
    pairs: Annotated[int, Schema(minimum=2)]
    """Pairs of sessions measured in alternation."""
    pairs_needed: Size | None
    """When inconclusive: about how many pairs in all would decide; null when out of reach or
    decided."""
    processes: Size
    """Worker processes these pairs ran in."""
    process_share: Share
    """Share of the variance that lies between processes."""
    typical_ratio: Figure
    """The same ratio of the medians of wall time."""
    distribution_changed: bool
    """Whether median over floor differs between A and B beyond chance: a slow path may have
    appeared or gone."""
    contention: Annotated[float, Schema(minimum=1)] | None
    """How many times longer than its work everything took; 1 is undisturbed."""
    noise: Noise
    """How noisy the machine was (docs/measuring.md, noise verdict)."""
    parity: Parity | None
    """B's outputs against A's; null when their outputs differ in name or shape."""
    a: SideDocument
    """The reference."""
    b: SideDocument
    """What is judged."""
    notes: tuple[str, ...]
    """What was guessed, adjusted or differs between the sides."""
    host: HostFacts
    """The machine."""
    weather: WeatherDocument
    """What the machine did meanwhile."""
    artifacts: tuple[ArtifactDocument, ...]
    """Files that the run left."""

    @classmethod
    def of(cls, result: ComparisonResult) -> ComparisonDocument:
        return cls.from_fields(
            result,
            ratio=Figure.of_estimate(result.ratio),
            margin=result.spec.margin,
            gate=_gate_document(result),
            typical_ratio=Figure.of_estimate(result.typical_ratio),
            a=SideDocument.of(result.a),
            b=SideDocument.of(result.b),
            weather=WeatherDocument.of(result.weather),
            artifacts=tuple(map(ArtifactDocument.from_fields, result.artifacts)),
        )


def _gate_document(result: ComparisonResult) -> GateDocument | None:
    allowed = result.spec.fail_if_slower
    if result.gate is None or allowed is None:
        return None
    return GateDocument(fail_if_slower=allowed, outcome=result.gate)


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


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedDocument(RankedHead):
    """One side of a ranking."""

    floor_ms: Amount | None
    """The 10th percentile of a call: the ratio times that of the reference, so that levels of
    different moments do not meet; its own where it was measured alone."""
    ratio: Figure | None
    """Its time per item by that of the reference, which has 1; null where it was not compared with
    it."""
    max_rel_error: Amount | None
    """Largest difference of its outputs to those of the reference, of their largest value."""
    noise: Noise | None
    """How quiet the machine was; null of the reference of others and of what was not measured."""
    run_id: str | None
    """Of its comparison with the reference, or of its own benchmark where it was measured alone, as
    it is kept; null of the reference of others."""
    alone: bool
    """Measured by itself, as `modeldyno bench` does, and not in alternation with the reference."""
    error: FailureDocument | None
    """Why it could not be measured, or only in part."""
    notes: tuple[str, ...]
    """What was guessed or adjusted of its inputs and call."""

    @classmethod
    def of(cls, ranked: Ranked, floor_s: float | None) -> RankedDocument:
        side, parity = ranked.side, ranked.parity
        return cls.from_fields(
            ranked,
            unranked=ranked.unranked or None,
            **axis_fields(side.ran, cls) if side else dict.fromkeys(axis_names(cls)),
            engine_version=side.facts.engine_version if side else None,
            format=side.model.format if side else None,
            floor_ms=to_milliseconds(floor_s),
            ratio=Figure.of_estimate(ranked.ratio) if ranked.ratio else None,
            max_rel_error=parity.max_rel_error if parity else None,
            error=FailureDocument.of(ranked.failure) if ranked.failure else None,
            notes=side.notes if side else (),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RankingDocument(Described):
    """What `modeldyno compare --json` gives for more than two sides, or with --engine all."""

    schema: Literal["modeldyno.ranking/2"] = "modeldyno.ranking/2"
    """Name and version of this format."""
    reference: str
    """The label of the side that all others were measured in alternation with: the first that
    works, or the only one. Empty when there is none."""
    interrupted: bool
    """Stopped early."""
    sides: tuple[RankedDocument, ...]
    """In the order of the request."""

    @classmethod
    def of(cls, ranking: Ranking) -> RankingDocument:
        return cls(
            reference=ranking.reference,
            interrupted=ranking.interrupted,
            sides=tuple(RankedDocument.of(side, ranking.floor_s(side)) for side in ranking.sides),
        )
