"""``/api/v1/judgements``: two benchmarks that were measured, held against each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Response
from pydantic import BaseModel, ConfigDict, Field

from modeldyno.api.v1.paging import parameters, queried
from modeldyno.api.v1.shape import Told, answer, problems
from modeldyno.core.ids import BenchmarkId
from modeldyno.core.judgements import (
    Basis,
    BenchmarkJudgement,
    CellJudgement,
    Judged,
    JudgedSide,
    Picked,
    Setting,
    Side,
    speedup,
)
from modeldyno.core.results import Estimate, Noise

if TYPE_CHECKING:
    from modeldyno.services.judgements import JudgementService

Pick = Annotated[
    str,
    Field(
        pattern=r"^[1-9][0-9]{0,8}(:[0-9]{1,4})?$",
        description="A benchmark, `12`, or one of its cells, `12:0`.",
        examples=["12", "12:0"],
    ),
]


class JudgementAsked(BaseModel):
    model_config = ConfigDict(extra="forbid")

    a: Pick
    b: Pick


class RatioTold(Told):
    """With its 95 % interval."""

    value: float = Field(examples=[0.763])
    low: float = Field(examples=[0.725])
    high: float = Field(examples=[0.806])


class JudgedCellTold(Told):
    number: int = Field(examples=[0])
    name: str = Field(examples=["onnxruntime · 2 cores · batch 8"])
    sessions: int = Field(examples=[12])
    samples: int = Field(examples=[2212])
    noise: Noise | None


class CellJudgementTold(Told):
    a: JudgedCellTold
    b: JudgedCellTold
    verdict: Judged = Field(description="Of B, seen from A; `inconclusive`: no clear difference.")
    sentence: str = Field(examples=["B is 1.31× faster than A (1.24–1.38, 95 %)."])
    why: str = Field(description="Why not comparable, or what to keep in mind; may be empty.")
    faster: Side | None = Field(description="Null unless one clearly is.")
    speedup: RatioTold | None = Field(description="Of the faster one; null where none is.")
    ratio: RatioTold | None = Field(
        description="B's time by A's, per item, of what the work costs (the floor); null when not "
        "comparable."
    )
    typical_ratio: RatioTold | None = Field(description="The same of typical latencies.")
    basis: Basis | None = Field(
        description="`alternation`: a comparison measured this pair in turns, which outranks "
        "numbers from `separate runs`."
    )
    comparison_id: int | None = Field(description="Of that comparison.")
    pairs: int | None = Field(description="Of sessions, in that comparison.", examples=[6])


class SettingTold(Told):
    name: str = Field(examples=["engine version"])
    a: str | None = Field(examples=["1.31.1"])
    b: str | None = Field(examples=["1.30.0"])
    differs: bool


class JudgedSideTold(Told):
    benchmark_id: int = Field(examples=[12])
    name: str
    run_id: str = Field(description="The run whose numbers count.")
    model_name: str = Field(examples=["resnet50.onnx"])


class JudgementTold(Told):
    a: JudgedSideTold
    b: JudgedSideTold
    sentence: str
    cells: list[CellJudgementTold] = Field(description="Cells of the same axes, pair by pair.")
    unmatched_a: list[int] = Field(description="Cells that B has no counterpart of.")
    unmatched_b: list[int]
    settings: list[SettingTold] = Field(description="All of them, of the first pair of cells.")
    settings_differing: int = Field(examples=[3])
    environment: list[SettingTold] = Field(description="The machines, and what runs on them.")
    environment_differing: int = Field(examples=[0])


def router(judgements: JudgementService) -> APIRouter:
    routes = APIRouter(prefix="/judgements", tags=["benchmarks"])

    @routes.get(
        "",
        response_model=JudgementTold,
        responses=problems(404),
        openapi_extra=parameters(JudgementAsked),
    )
    def judge_benchmarks(asked: Annotated[JudgementAsked, queried(JudgementAsked)]) -> Response:
        """Which of two benchmarks is quicker, cell by cell, with the interval of the ratio and all
        settings side by side. Nothing is measured and nothing is kept."""
        return answer(_told(judgements.judge(_picked(asked.a), _picked(asked.b))))

    return routes


def _picked(said: str) -> Picked:
    number, _, cell = said.partition(":")
    return Picked(BenchmarkId(int(number)), int(cell) if cell else None)


def _told(found: BenchmarkJudgement) -> dict[str, Any]:
    return {
        "a": _side(found.a),
        "b": _side(found.b),
        "sentence": found.sentence,
        "cells": [_cell(cell) for cell in found.cells],
        "unmatched_a": list(found.unmatched_a),
        "unmatched_b": list(found.unmatched_b),
        "settings": [_setting(one) for one in found.settings],
        "settings_differing": sum(one.differs for one in found.settings),
        "environment": [_setting(one) for one in found.environment],
        "environment_differing": sum(one.differs for one in found.environment),
    }


def _side(side: JudgedSide) -> dict[str, Any]:
    return dict(vars(side))


def _setting(one: Setting) -> dict[str, Any]:
    return vars(one) | {"differs": one.differs}


def _cell(cell: CellJudgement) -> dict[str, Any]:
    quicker = None
    if cell.ratio is not None and cell.faster is not None:
        low, value, high = speedup(cell.ratio, cell.faster)
        quicker = {"value": value, "low": low, "high": high}
    return {
        "a": dict(vars(cell.a)),
        "b": dict(vars(cell.b)),
        "verdict": cell.verdict,
        "sentence": cell.sentence,
        "why": cell.why,
        "faster": cell.faster,
        "speedup": quicker,
        "ratio": ratio_of(cell.ratio),
        "typical_ratio": ratio_of(cell.typical_ratio),
        "basis": cell.basis,
        "comparison_id": cell.comparison_id,
        "pairs": cell.pairs,
    }


def ratio_of(ratio: Estimate | None) -> dict[str, float] | None:
    """As RatioTold describes."""
    if ratio is None:
        return None
    return {"value": ratio.value, "low": ratio.low, "high": ratio.high}
