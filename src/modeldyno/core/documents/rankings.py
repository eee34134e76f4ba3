"""Several sides that were compared with one of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from modeldyno.core.documents.axes import RankedHead
from modeldyno.core.documents.described import Amount, Described, milliseconds
from modeldyno.core.documents.failures import FailureDocument
from modeldyno.core.documents.figures import Figure
from modeldyno.core.rankings import Ranked, Ranking
from modeldyno.core.requests.axes import axis_fields, axis_names
from modeldyno.core.results import Noise


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

    @classmethod
    def of(cls, ranked: Ranked, floor_s: float | None) -> RankedDocument:
        side, parity = ranked.side, ranked.parity
        return cls.from_fields(
            ranked,
            unranked=ranked.unranked or None,
            **axis_fields(side.ran, cls) if side else dict.fromkeys(axis_names(cls)),
            engine_version=side.facts.engine_version if side else None,
            format=side.model.format if side else None,
            floor_ms=milliseconds(floor_s),
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
