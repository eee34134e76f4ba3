"""Several sides that were compared with one of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from modeldyno.core.documents.described import Amount, Described, Size
from modeldyno.core.documents.failure import FailureDocument
from modeldyno.core.documents.figure import Figure
from modeldyno.core.models import ModelFormat
from modeldyno.core.rankings import Ranked, Ranking
from modeldyno.core.results import Noise


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedDocument(Described):
    """One side of a ranking."""

    label: str
    """As it was requested."""
    place: Size | None
    """From 1; several may have the same. Null: it has none."""
    unranked: str | None
    """Why it has no place although it was measured."""
    engine: str | None
    """As it was loaded."""
    engine_version: str | None
    """As the engine reports it."""
    format: ModelFormat | None
    """Of the model file."""
    precision: str | None
    """In which it computes, read back."""
    cores: Size | None
    """CPUs it may use."""
    batch_size: Size | None
    """Items per call, as it ran."""
    streams: Size | None
    """Requests that one call makes at the same time, inside the engine."""
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

    @classmethod
    def of(cls, ranked: Ranked, floor_s: float | None) -> RankedDocument:
        side, parity = ranked.side, ranked.parity
        return cls.from_fields(
            ranked,
            unranked=ranked.unranked or None,
            engine=side.facts.engine if side else None,
            engine_version=side.facts.engine_version if side else None,
            format=side.model.format if side else None,
            precision=side.facts.precision if side else None,
            cores=side.spec.cores if side else None,
            batch_size=side.batch_size if side else None,
            streams=side.facts.streams if side else None,
            floor_ms=None if floor_s is None else floor_s * 1e3,
            ratio=Figure.of_estimate(ranked.ratio) if ranked.ratio else None,
            max_rel_error=parity.max_rel_error if parity else None,
            error=FailureDocument.of(ranked.failure) if ranked.failure else None,
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
    """Stopped before its end."""
    sides: tuple[RankedDocument, ...]
    """In the order of the request."""

    @classmethod
    def of(cls, ranking: Ranking) -> RankingDocument:
        return cls(
            reference=ranking.reference,
            interrupted=ranking.interrupted,
            sides=tuple(RankedDocument.of(side, ranking.floor_s(side)) for side in ranking.sides),
        )
