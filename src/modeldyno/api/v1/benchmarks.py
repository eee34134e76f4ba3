"""``/api/v1/benchmarks``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

from fastapi import APIRouter, Request, Response
from pydantic import Field

from modeldyno.api.v1.idempotency import once
from modeldyno.api.v1.judgements import RatioTold, ratio_of
from modeldyno.api.v1.paging import (
    ListAsked,
    OfRuns,
    PageTold,
    listed,
    page_answer,
    parameters,
)
from modeldyno.api.v1.runnables import RunnableRoutes
from modeldyno.api.v1.runs import LatestRunTold, latest_of
from modeldyno.api.v1.settings import Sent, changed, settings_of
from modeldyno.api.v1.shape import Id, Moment, Told, answer, problems
from modeldyno.api.v1.summaries import CellTold, SummaryTold, cell_of, outcome_of, summary_of
from modeldyno.core.benchmarks import (
    Baseline,
    Benchmark,
    BenchmarkDetails,
    BenchmarkRow,
    Mode,
    VersusBaseline,
)
from modeldyno.core.cell_axes import AXES
from modeldyno.core.codec import encode
from modeldyno.core.commands import bench_command, config_of
from modeldyno.core.documents.summary import CellSummary
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
from modeldyno.core.runs import CellOutcome, State
from modeldyno.core.specs import CellSpec
from modeldyno.services import requests
from modeldyno.services.benchmarks import Plan

if TYPE_CHECKING:
    from modeldyno.services.archive import Archive
    from modeldyno.services.benchmarks import BenchmarkService
    from modeldyno.services.jobs import JobService
    from modeldyno.store.records.all import Records


class BenchmarksAsked(ListAsked, OfRuns):
    sort: Literal["created", "name", "state", "last_run", "latency", "throughput"] = "created"
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
    summary: SummaryTold
    worst_noise: WorstNoiseTold | None = Field(description="Null before it is measured.")
    axes: AxesTold
    vs_baseline: VersusBaselineTold | None = Field(
        description="Null without a baseline, and before both have a number."
    )


class BenchmarkRowTold(BenchmarkHeadTold):
    cells: list[CellTold] | None = Field(description="Null unless asked for by `with_cells`.")


class BenchmarkTold(BenchmarkHeadTold):
    modified_at: Moment | None
    dataset_id: int | None
    settings: BenchmarkRequest
    cells: list[CellTold]
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
    cells: list[CellTold]
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
        return answer(
            _details(benchmarks.details(benchmark_id), benchmarks.versus), status, **headers
        )

    @routes.get(
        "",
        response_model=PageTold[BenchmarkRowTold],
        responses=problems(),
        openapi_extra=parameters(BenchmarksAsked),
    )
    def list_benchmarks(asked: Annotated[BenchmarksAsked, listed(BenchmarksAsked)]) -> Response:
        """Newest first unless asked otherwise; sorted by `created`, `name`, `state`, `last_run`,
        `latency` or `throughput`. `engine` finds those with a cell of it."""
        page = benchmarks.page(asked.wanted())
        return page_answer(page, lambda row: _line(row, benchmarks.versus, asked.with_cells))

    @routes.post(
        "", status_code=201, response_model=BenchmarkTold, responses=problems(404, 409, 413)
    )
    @once(records)
    def create_benchmark(asked: NewBenchmarkRequest) -> Response:
        """With `start`, it is in the queue as well: `latest_run.job_id` says as which job."""
        made, _ = benchmarks.create(
            ProjectId(asked.project_id),
            ModelId(asked.model_id),
            asked.name or "",
            partial(requests.benchmark_spec, asked),
            dataset_id=_dataset(asked.dataset_id),
            start=asked.start,
        )
        return details(made.id, 201, location=f"/api/v1/benchmarks/{made.id}")

    @routes.post("/plan", response_model=PlanTold, responses=problems(404, 409, 413))
    def plan_benchmark(asked: PlanBenchmarkRequest) -> Response:
        """What it would measure and about how long; nothing is kept, nothing is run."""
        make_spec = partial(requests.benchmark_spec, asked)
        return answer(_plan(benchmarks.plan(ModelId(asked.model_id), make_spec)))

    @routes.get("/{benchmark_id}", response_model=BenchmarkTold, responses=problems(404))
    def get_benchmark(benchmark_id: Id) -> Response:
        """Its settings, its latest run, and how each cell came out the last time."""
        return details(BenchmarkId(benchmark_id))

    @routes.patch(
        "/{benchmark_id}", response_model=BenchmarkTold, responses=problems(404, 409, 413)
    )
    def edit_benchmark(benchmark_id: Id, asked: EditBenchmarkRequest, sent: Sent) -> Response:
        """What is not sent stays. The name may change at any time, all else before the first
        run."""
        number = BenchmarkId(benchmark_id)
        before = benchmark_request(benchmarks.get(number).spec)
        after = changed(before, asked, sent, "benchmark")
        benchmarks.edit(
            number,
            name=asked.name,
            dataset_id=_dataset(asked.dataset_id),
            make_spec=partial(requests.benchmark_spec, after) if after else None,
        )
        return details(number)

    @routes.get(
        "/{benchmark_id}/reproduce", response_model=ReproductionTold, responses=problems(404)
    )
    def reproduce_benchmark(benchmark_id: Id, request: Request) -> Response:
        """Texts that measure the same again when they are pasted. None holds the token: they read
        `MODELDYNO_TOKEN`."""
        found = benchmarks.details(BenchmarkId(benchmark_id))
        return answer(_reproduction(found, str(request.base_url).rstrip("/")))

    shared = RunnableRoutes("benchmark", routes, benchmarks, records, jobs, archive)
    shared.add_delete(benchmarks.delete)
    shared.add_runs()
    shared.add_rerun(benchmarks.rerun, BenchmarkTold, details)
    return routes


def _dataset(number: int | None) -> DatasetId | None:
    return None if number is None else DatasetId(number)


Versus = Callable[[Baseline | None, Sequence[CellOutcome]], VersusBaseline | None]


def _line(row: BenchmarkRow, versus: Versus, with_cells: bool) -> dict[str, Any]:
    cells = _cells(row.asked, row.cells)
    held = _held(versus(row.baseline, row.cells))
    return _row(row, row.model_name, cells, held) | {"cells": cells if with_cells else None}


def _row(
    row: BenchmarkRow | Benchmark,
    model_name: str,
    cells: Sequence[CellSummary],
    held: dict[str, Any] | None,
) -> dict[str, Any]:
    return {
        "id": row.id,
        "project_id": row.project_id,
        "name": row.name,
        "mode": row.mode,
        "model_id": row.model_id,
        "model_name": model_name,
        "state": row.state,
        "created_at": row.created_at,
        "last_run_at": row.last_run_at,
        "rerun_of": row.rerun_of,
        "summary": summary_of(row.summary),
        "worst_noise": _worst_noise(cells),
        "axes": _axes(cells),
        "vs_baseline": held,
    }


def _held(found: VersusBaseline | None) -> dict[str, Any] | None:
    """As VersusBaselineTold describes."""
    return None if found is None else vars(found) | {"ratio": ratio_of(found.ratio)}


def _cells(asked: Sequence[CellSpec], found: Sequence[CellOutcome]) -> list[CellSummary]:
    """As they came out, or as they were asked for."""
    if found:
        return [outcome_of(cell) for cell in found]
    return [cell_of(number, cell) for number, cell in enumerate(asked)]


def _worst_noise(cells: Sequence[CellSummary]) -> dict[str, Any] | None:
    """As WorstNoiseTold describes."""
    found = [cell.noise for cell in cells if cell.noise]
    if not found:
        return None
    worst = max(found, key=get_args(Noise).index)
    return {"noise": worst, "cells": found.count(worst), "of": len(found)}


def _axes(cells: Sequence[CellSummary]) -> dict[str, list[Any]]:
    """As AxesTold describes."""
    return {
        axis.field: list(dict.fromkeys(filter(None, (getattr(cell, axis.name) for cell in cells))))
        for axis in AXES
    }


def _details(found: BenchmarkDetails, versus: Versus) -> dict[str, Any]:
    benchmark, spec = found.benchmark, found.benchmark.spec
    cells = _cells(spec.cells, found.cells)
    return {
        **_row(benchmark, found.model_name, cells, _held(versus(found.baseline, found.cells))),
        "modified_at": benchmark.modified_at,
        "dataset_id": benchmark.dataset_id,
        "settings": settings_of(spec),
        "cells": cells,
        "latest_run": latest_of(found.latest),
        "command": bench_command(spec, found.model_name),
    }


def _plan(plan: Plan) -> dict[str, Any]:
    return {
        "cells": [cell_of(number, cell) for number, cell in enumerate(plan.spec.cells)],
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
