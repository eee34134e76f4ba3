"""``benchmark/…``, and ``benchmark`` itself: details, or the call of 1.9 (``workload.py``)."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from modeldyno.api.inc.announcing import Speech
from modeldyno.api.inc.benchmark_shape import UNTIL_PRECISE, WARMUP, benchmark_shape
from modeldyno.api.inc.dataset_shape import NO_DATASET, dataset_shape
from modeldyno.api.inc.dummy_sizes import sizes_said, unfit_note
from modeldyno.api.inc.model_shape import model_shape
from modeldyno.api.inc.operations import Operations
from modeldyno.api.inc.parameters import Parameters
from modeldyno.api.inc.shapes import Place, everything
from modeldyno.api.inc.workload import Calls
from modeldyno.core.benchmarks import Benchmark, BenchmarkOutcome, Mode
from modeldyno.core.cells import best_cell
from modeldyno.core.datasets import Dataset
from modeldyno.core.errors import BadValue, WrongState
from modeldyno.core.ids import BenchmarkId, DatasetId, ModelId, ProjectId, RunId
from modeldyno.core.models import Model
from modeldyno.core.queue import Job
from modeldyno.core.requests.measuring import (
    MOST_BATCH,
    MOST_INSTANCES,
    MOST_ITERATIONS,
    BenchmarkRequest,
)
from modeldyno.core.runs import LatestRun
from modeldyno.core.specs import BenchmarkSpec
from modeldyno.measure.cpus import allowed_cpus
from modeldyno.services.benchmarks import MakeSpec
from modeldyno.services.requests import benchmark_spec
from modeldyno.store.configs import NAME as CONFIG

if TYPE_CHECKING:
    from modeldyno.api.inc.runnables import Runnables
    from modeldyno.services.benchmarks import BenchmarkService
    from modeldyno.store.history import History
    from modeldyno.store.records.all import Records

MODES: tuple[Mode, ...] = ("performance", "accuracy")
BATCH_SIZE = 100
USUAL_CORES = 4  # of an instance; or as many as there are
MOST_CORES = 1024
_MISSING = "Could not find required parameter."


def operations(
    records: Records,
    history: History,
    benchmarks: BenchmarkService,
    runnables: Runnables,
    calls: Calls,
) -> Operations:
    def add(asked: Parameters) -> dict[str, Any]:
        """What a machine does not have (cores, instances) is kept as it was asked for; a run takes
        what there is, and says so."""
        project_id = ProjectId(asked.id("project_id", _MISSING))
        name, model_id = asked.text("name"), ModelId(asked.id("model_id", _MISSING))
        dataset_id, mode = _dataset_id(asked, is_needed=True), _mode(asked) or "performance"
        dims = sizes_said(_found(dataset_id), records.models.get(model_id))
        made, _ = benchmarks.create(
            project_id, model_id, name, _spec(asked, dims), dataset_id=dataset_id, mode=mode
        )
        return {"benchmark_id": made.id}

    def edit(asked: Parameters) -> dict[str, Any]:
        number = BenchmarkId(asked.id())
        changed = _changed(asked)
        before, dataset_id = benchmarks.get(number), _dataset_id(asked)
        dims = None
        if dataset_id is not None:
            model = records.models.get(before.model_id)
            others = sizes_said(_found(before.dataset_id), model)
            dims = {
                name: size for name, size in before.spec.model.dims.items() if name not in others
            } | sizes_said(_found(dataset_id), model)
        try:
            benchmarks.edit(
                number,
                dataset_id=dataset_id,
                mode=changed.get("mode"),
                make_spec=_resettled(before, changed, dims),
            )
        except WrongState as error:
            if before.state == "draft":
                raise
            # The two spaces are the original's.
            text = "Can not modify benchmark  that has been run."
            raise WrongState(text, why=error.why, fix="Add another benchmark") from error
        return {"id": number, **changed}

    def _found(dataset_id: DatasetId | None) -> Dataset | None:
        return records.datasets.get(dataset_id) if dataset_id else None

    def details_of(number: int) -> dict[str, Any]:
        outcome = benchmarks.outcome(BenchmarkId(number))
        benchmark = outcome.benchmark
        dataset, model = _found(benchmark.dataset_id), records.models.get(benchmark.model_id)
        job = records.jobs.of_run(outcome.latest.id) if outcome.latest else None
        place = _place(outcome.latest, model, dataset, job)
        best = best_cell(outcome.cells)
        cells = records.runs.cells(best.run_id) if best else ()  # none: deleted a moment ago
        cell = json.loads(cells[best.number]) if best and cells else None
        return benchmark_shape(outcome, place, cell)

    def _place(
        latest: LatestRun | None, model: Model, dataset: Dataset | None, job: Job | None = None
    ) -> Place:
        has_begun = latest is not None and latest.started_at and latest.job_id is not None
        return Place(
            model=model_shape(model),
            dataset=dataset_shape(dataset) if dataset else NO_DATASET,
            folder=str(history.folder(latest.id).path) if latest and has_begun else None,
            unfit=unfit_note(dataset, model),
            job=job,
        )

    def listed(asked: Parameters) -> dict[str, Any]:
        project_id = ProjectId(asked.id("project_id", _MISSING))
        outcomes = benchmarks.outcomes(project_id)
        models = {one.id: one for one in everything(records.models.page, project_id)}
        datasets = {one.id: one for one in everything(records.datasets.page, project_id)}

        def told(outcome: BenchmarkOutcome) -> dict[str, Any]:
            model = models[outcome.benchmark.model_id]
            number = outcome.benchmark.dataset_id
            dataset = datasets.get(number) if number else None
            return benchmark_shape(outcome, _place(outcome.latest, model, dataset))

        return {
            "benchmarks": [
                told(outcome)
                for outcome in outcomes
                if outcome.benchmark.model_id in models  # else deleted a moment ago, both of them
            ]
        }

    def started(_number: int, run_id: RunId) -> dict[str, Any]:
        folder = history.folder(run_id)
        return {"config_path": str(folder.path / CONFIG), "output_path": str(folder.log)}

    def latest(number: int) -> LatestRun | None:
        return benchmarks.outcome(BenchmarkId(number)).latest

    runnables.announcer.speaks("benchmark", Speech("benchmark", details_of, started))
    return {
        "benchmark": lambda asked: (
            calls.begin(asked) if "input_model" in asked else details_of(asked.id())
        ),
        "benchmark/add": add,
        "benchmark/edit": edit,
        "benchmark/list": listed,
        **runnables.operations("benchmark", benchmarks, latest),
    }


# ---------------------------------------------------------------- asked


def _spec(asked: Parameters, dims: Mapping[str, int]) -> MakeSpec:
    """Of ``benchmark/add``, with the documented defaults, but never none of anything."""
    batch = _number(asked, "batch_size", BATCH_SIZE, most=MOST_BATCH)
    warmup = _number(asked, "warmup_iterations", WARMUP, least=0, most=1_000_000)
    iterations = _iterations(asked)
    available = len(allowed_cpus())
    cores = _number(asked, "cores_per_instance", min(USUAL_CORES, available), most=MOST_CORES)
    request = BenchmarkRequest(
        batch_sizes=(batch,),
        cores=(min(cores, available),),
        instances=(_instances(asked) or max(1, available // cores),),
        dims=dict(dims),
        iterations=iterations,
        warmup=warmup,
    )

    def make(path: str) -> BenchmarkSpec:
        spec = benchmark_spec(request, path)
        return replace(spec, cells=(replace(spec.cells[0], cores=cores),))

    return make


def _iterations(asked: Parameters) -> int | None:
    found = _number(asked, "iterations", UNTIL_PRECISE, least=UNTIL_PRECISE, most=MOST_ITERATIONS)
    if found == 0:
        raise BadValue("Could not parse value", why="iterations is -1, or at least 1")
    return None if found == UNTIL_PRECISE else found


def _instances(asked: Parameters) -> int | None:
    """None: as many as fit. The stock client divides cores by four, which is less than one on a
    small machine."""
    found = asked.value("number_of_instance")
    if isinstance(found, float) and math.isfinite(found):
        asked = Parameters({"number_of_instance": math.floor(found)})
    return _number(asked, "number_of_instance", 0, least=0, most=MOST_INSTANCES) or None


def _changed(asked: Parameters) -> dict[str, Any]:
    """What was sent, in the documented order."""
    found = {
        "dataset_id": _dataset_id(asked),
        "batch_size": _number(asked, "batch_size", 0, most=MOST_BATCH),
        "mode": _mode(asked),
        "cores_per_instance": _number(asked, "cores_per_instance", 0, most=MOST_CORES),
        "number_of_instance": _instances(asked) or 1,
    }
    return {name: value for name, value in found.items() if name in asked and value is not None}


def _resettled(
    before: Benchmark, changed: Mapping[str, Any], dims: dict[str, int] | None
) -> MakeSpec | None:
    """``dims`` of a dataset that is another one now."""
    names = {
        "batch_size": "batch_size",
        "cores_per_instance": "cores",
        "number_of_instance": "instances",
    }
    values = {field: changed[name] for name, field in names.items() if name in changed}
    asked_of = before.spec.model if dims is None else replace(before.spec.model, dims=dims)
    if not values and asked_of == before.spec.model:
        return None
    if values and len(before.spec.cells) > 1:
        raise BadValue(
            "This benchmark has several cells",
            why="here, a benchmark has one batch size, and so on",
            fix="Change it where it was made",
        )
    first, *others = before.spec.cells
    cell = replace(first, **values)
    if before.spec.iterations == 1 and cell.instances > 1:
        raise BadValue("Could not parse value", why="several instances need at least 2 iterations")
    return lambda path: replace(
        before.spec, model=replace(asked_of, path=path), cells=(cell, *others)
    )


def _number(asked: Parameters, name: str, default: int, *, least: int = 1, most: int) -> int:
    try:
        return asked.whole(name, default, least=least, most=most)
    except BadValue as error:
        raise BadValue("Could not parse value", why=f"{error.title}: {error.why}") from error


def _mode(asked: Parameters) -> Mode | None:
    found = asked.value("mode")
    for mode in MODES:
        if found == mode:
            return mode
    if found is not None:
        raise BadValue("Could not parse value", why=f"mode is {' or '.join(MODES)}")
    return None


def _dataset_id(asked: Parameters, is_needed: bool = False) -> DatasetId | None:
    """-1 is what ``project/create`` says when it made no dataset."""
    if is_needed and "dataset_id" not in asked:
        raise BadValue(_MISSING, why="there is no dataset_id")
    found = _number(asked, "dataset_id", -1, least=-1, most=2**31 - 1)
    return DatasetId(found) if found > 0 else None
