"""``/api/v1/benchmarks``."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Request, Response
from pydantic import Field

from modeldyno.api.v1.judgements import RatioTold, ratio_of
from modeldyno.api.v1.paging import ListAsked, OfRuns, one_of
from modeldyno.api.v1.runnables import KindRoutes, RunnableRoutes
from modeldyno.api.v1.runs import LatestRunTold, latest_of
from modeldyno.api.v1.settings import changed, settings_of
from modeldyno.api.v1.shape import Id, Moment, Told, answer, problems
from modeldyno.api.v1.summaries import (
    CellPart,
    SummaryPart,
    joined,
    json_array,
    json_response,
    page_of,
)
from modeldyno.core.benchmarks import (
    Benchmark,
    BenchmarkDetails,
    BenchmarkRow,
    Mode,
    ShownCells,
    VersusBaseline,
)
from modeldyno.core.codec import decode, encode
from modeldyno.core.commands import bench_command, config_of
from modeldyno.core.documents.cell import CellDocument
from modeldyno.core.documents.described import json_text
from modeldyno.core.documents.summary import NUMBER_PATHS
from modeldyno.core.ids import BenchmarkId, DatasetId, ModelId, ProjectId
from modeldyno.core.pages import Wanted
from modeldyno.core.reproducing import reproduction
from modeldyno.core.requests.measuring import BenchmarkRequest, benchmark_request
from modeldyno.core.requests.server import (
    EditBenchmarkRequest,
    NewBenchmarkRequest,
    PlanBenchmarkRequest,
)
from modeldyno.core.results import Noise, Verdict
from modeldyno.core.runs import State
from modeldyno.core.specs import BenchmarkSpec
from modeldyno.services import requests
from modeldyno.services.benchmarks import Plan

if TYPE_CHECKING:
    from modeldyno.services.archive import Archive
    from modeldyno.services.benchmarks import BenchmarkService
    from modeldyno.services.jobs import JobService
    from modeldyno.store.records.all import Records


if TYPE_CHECKING:
    Sort = str
else:
    Sort = one_of(*("created", "name", "state", "last_run", "latency", "throughput"), *NUMBER_PATHS)


class BenchmarksAsked(ListAsked, OfRuns):
    sort: Sort = "created"
    with_cells: Annotated[bool, Field(description="Tell every cell of every line.")] = False

    def wanted(self) -> Wanted:
        return self.wanted_without("with_cells")


class AxesTold(Told):
    """What its cells differ in: each value once, as it ran where that is known."""

    engines: list[str] = Field(examples=[["onnxruntime", "pytorch"]])
    devices: list[str] = Field(examples=[["cpu"]])
    precisions: list[str] = Field(examples=[["fp32"]])
    batch_sizes: list[int] = Field(examples=[[1, 8, 32]])
    cores: list[int] = Field(examples=[[1, 2, 4]])
    instances: list[int] = Field(examples=[[1]])
    streams: list[int] = Field(examples=[[1]])


class VersusBaselineTold(Told):
    """At the quickest cell that both have; of the baseline itself, the ratio is 1."""

    benchmark_id: int = Field(description="Of the baseline.", examples=[3])
    baseline_cell: int | None = Field(examples=[0])
    cell: int | None = Field(examples=[0])
    ratio: RatioTold | None = Field(description="Its time by the baseline's, per item.")
    verdict: Verdict | None
    why: str = Field(description="Why there is no ratio, or no verdict; may be empty.")


class WorstNoiseTold(Told):
    """Of all its cells; `summary` is about the best one only."""

    noise: Noise = Field(examples=["unusable"])
    cells: int = Field(description="So many are as noisy as that.", examples=[3])
    of: int = Field(description="Of so many that were measured.", examples=[4])


class BenchmarkHeadTold(Told):
    id: int = Field(examples=[1])
    project_id: int = Field(examples=[1])
    name: str = Field(examples=["resnet50.onnx"])
    mode: Mode
    model_id: int = Field(examples=[1])
    model_name: str = Field(examples=["resnet50.onnx"])
    state: State = Field(description="Of its latest run; `draft` before the first.")
    created_at: Moment
    last_run_at: Moment | None
    rerun_of: int | None = Field(description="The benchmark that this one repeats.")
    summary: SummaryPart
    worst_noise: WorstNoiseTold | None = Field(description="Null before it is measured.")
    axes: AxesTold
    vs_baseline: VersusBaselineTold | None = Field(
        description="Null without a baseline, and before both have a number."
    )


class BenchmarkRowTold(BenchmarkHeadTold):
    cells: list[CellPart] | None = Field(description="Null unless asked for by `with_cells`.")


class BenchmarkTold(BenchmarkHeadTold):
    modified_at: Moment | None
    dataset_id: int | None
    settings: BenchmarkRequest
    cells: list[CellPart]
    latest_run: LatestRunTold | None
    command: str = Field(
        description="Measures the same in a terminal.",
        examples=["modeldyno bench resnet50.onnx --batch 1,8"],
    )


class ReproductionTold(Told):
    terminal: str = Field(description="Fetches the model's file, and measures it here.")
    curl: str = Field(description="Puts the same benchmark in the server's queue.")
    python: str = Field(description="The same, and waits for the result.")
    config: dict[str, Any] = Field(
        description="What `modeldyno bench --config` reads.",
        examples=[{"model": "resnet50.onnx", "batch_size": [1, 8]}],
    )


class PlanTold(Told):
    cells: list[CellPart]
    about_s: float | None = Field(description="Null when the number of calls is exact.")
    cores: int = Field(description="Used at once, at the most.")
    threads: int = Field(description="More than cores: they would share them.")
    command: str = Field(examples=["modeldyno bench resnet50.onnx --batch 1,8"])


def router(
    records: Records,
    benchmarks: BenchmarkService,
    jobs: JobService,
    archive: Archive,
) -> APIRouter:
    routes = APIRouter(prefix="/benchmarks", tags=["benchmarks"])

    def details(benchmark_id: BenchmarkId, status: int = 200, **headers: str) -> Response:
        body = _details(benchmarks.details(benchmark_id), benchmarks.versus)
        return json_response(body, status, **headers)

    def create(asked: NewBenchmarkRequest) -> Benchmark:
        made, _ = benchmarks.create(
            ProjectId(asked.project_id),
            ModelId(asked.model_id),
            asked.name or "",
            partial(requests.benchmark_spec, asked),
            dataset_id=_dataset(asked.dataset_id),
            start=asked.start,
        )
        return made

    def change(number: BenchmarkId, asked: EditBenchmarkRequest, sent: frozenset[str]) -> None:
        before = benchmark_request(benchmarks.get(number).spec)
        after = changed(before, asked, sent, "benchmark")
        benchmarks.edit(
            number,
            name=asked.name,
            dataset_id=_dataset(asked.dataset_id),
            make_spec=partial(requests.benchmark_spec, after) if after else None,
        )

    def rows(asked: BenchmarksAsked) -> Response:
        page = benchmarks.page(asked.wanted(), with_cells=asked.with_cells)
        lines = (_line(row, benchmarks.versus, asked.with_cells) for row in page.items)
        return page_of(lines, page.next)

    RunnableRoutes("benchmark", routes, benchmarks, records, jobs, archive).add(
        KindRoutes(
            new=NewBenchmarkRequest,
            edit=EditBenchmarkRequest,
            query=BenchmarksAsked,
            row=BenchmarkRowTold,
            shown=BenchmarkTold,
            create=create,
            change=change,
            rows=rows,
            details=details,
            about="Its settings, its latest run, and how each cell came out the last time.",
            about_list="Newest first unless asked otherwise; sorted by `created`, `name`, `state`, "
            "`last_run`,\n`latency`, `throughput` or any number of `summary`. "
            "`engine` finds those with a cell of it.",
        )
    )

    @routes.post("/plan", response_model=PlanTold, responses=problems(404, 409, 413))
    def plan_benchmark(asked: PlanBenchmarkRequest) -> Response:
        """What it would measure and about how long; nothing is kept, nothing is run."""
        make_spec = partial(requests.benchmark_spec, asked)
        return answer(_plan(benchmarks.plan(ModelId(asked.model_id), make_spec)))

    @routes.get(
        "/{benchmark_id}/reproduce", response_model=ReproductionTold, responses=problems(404)
    )
    def reproduce_benchmark(benchmark_id: Id, request: Request) -> Response:
        """Texts that measure the same again when they are pasted. None holds the token: they read
        `MODELDYNO_TOKEN`."""
        found = benchmarks.details(BenchmarkId(benchmark_id))
        return answer(_reproduction(found, str(request.base_url).rstrip("/")))

    return routes


def _dataset(number: int | None) -> DatasetId | None:
    return None if number is None else DatasetId(number)


Versus = Callable[[ShownCells], VersusBaseline | None]


def _line(row: BenchmarkRow, versus: Versus, with_cells: bool) -> bytes:
    """As BenchmarkRowTold describes."""
    values = _values(row, row.model_name)
    values["vs_baseline"] = _held(versus(row.cells))
    return joined(
        values,
        members=row.outline_json,
        summary=row.summary_json,
        cells=json_array(row.cells.documents) if with_cells else "null",
    )


def _values(row: BenchmarkRow | Benchmark, model_name: str) -> dict[str, Any]:
    return {
        "id": row.id,
        "project_id": row.project_id,
        "name": row.name,
        "model_id": row.model_id,
        "model_name": model_name,
        "state": row.state,
        "created_at": row.created_at,
        "last_run_at": row.last_run_at,
        "rerun_of": row.rerun_of,
    }


def _held(found: VersusBaseline | None) -> dict[str, Any] | None:
    """As VersusBaselineTold describes."""
    return None if found is None else vars(found) | {"ratio": ratio_of(found.ratio)}


def _details(found: BenchmarkDetails, versus: Versus) -> bytes:
    """As BenchmarkTold describes."""
    benchmark = found.benchmark
    values = {
        **_values(benchmark, found.model_name),
        "vs_baseline": _held(versus(found.cells)),
        "modified_at": benchmark.modified_at,
        "dataset_id": benchmark.dataset_id,
        "latest_run": latest_of(found.latest),
        "command": _command(found.spec_json, found.model_name),
    }
    return joined(
        values,
        members=found.outline_json,
        settings=_settings(found.spec_json),
        summary=benchmark.summary_json,
        cells=json_array(found.cells.documents),
    )


# What follows from a spec is worked out once, for as long as somebody looks at it.


@lru_cache(maxsize=1024)
def _settings(spec_json: str) -> str:
    return json_text(settings_of(_spec(spec_json)), indent=None)


@lru_cache(maxsize=1024)
def _command(spec_json: str, model_name: str) -> str:
    return bench_command(_spec(spec_json), model_name)


def _spec(spec_json: str) -> BenchmarkSpec:
    spec: BenchmarkSpec = decode(BenchmarkSpec, json.loads(spec_json)["spec"])
    return spec


def _plan(plan: Plan) -> dict[str, Any]:
    return {
        "cells": [CellDocument.planned(*cell) for cell in enumerate(plan.spec.cells)],
        "about_s": plan.about_s,
        "cores": plan.cores,
        "threads": plan.threads,
        "command": plan.command,
    }


def _reproduction(found: BenchmarkDetails, here: str) -> dict[str, Any]:
    benchmark = found.benchmark
    spec = benchmark.spec
    named = replace(spec, model=replace(spec.model, path=found.model_name))
    made = reproduction(
        here,
        benchmark.project_id,
        benchmark.model_id,
        benchmark.name,
        _unusual(settings_of(spec)),
        bench_command(spec, found.model_name),
    )
    return vars(made) | {"config": config_of(named)}


def _unusual(settings: dict[str, Any]) -> dict[str, Any]:
    """Those that somebody chose; what follows from the machine is left out."""
    usual = encode(BenchmarkRequest()) | {"memory_limit_bytes": settings["memory_limit_bytes"]}
    return {name: value for name, value in settings.items() if value != usual[name]}
