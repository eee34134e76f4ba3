"""Answers of ``/api`` about what can be run are made only of a document and its surroundings."""

import ast
from datetime import UTC, datetime
from pathlib import Path

import pytest

from modeldyno.api import inc
from modeldyno.api.inc.runnable_shapes import (
    benchmark_shape,
    op_rows_shape,
    optimization_shape,
    profile_shape,
)
from modeldyno.api.inc.shapes import Surroundings
from modeldyno.core.benchmarks import Benchmark, BenchmarkOutcome
from modeldyno.core.codec import encode
from modeldyno.core.ids import (
    BenchmarkId,
    DatasetId,
    JobId,
    ModelId,
    OptimizationId,
    ProfileId,
    RunId,
)
from modeldyno.core.optimizations import Optimization, OptimizationDetails
from modeldyno.core.profiles import OpMicroseconds, Profile
from modeldyno.core.runs import LatestRun, RunnableDetails
from modeldyno.core.specs import BenchmarkSpec, CellSpec, ModelSpec, ProfileSpec

FOLDER = Path(inc.__file__).parent
NOON = datetime(2026, 11, 15, 12, 0, 0, tzinfo=UTC)
COMMON = {"project_id": 1, "name": "n"}
RAN = {
    "created_at": "2026-11-15 12:00:00",
    "last_run_at": "2026-11-15 12:00:00",
    "duration": 3,
}
MODEL, DATASET = {"id": 7}, {"id": -1}
SURROUNDINGS = Surroundings(
    model=MODEL,
    dataset=DATASET,
    config="/w/run/config.yaml",
    log="/w/run/log.txt",
    unfit="the shape does not fit",
    cores=2,
    reason="somebody cancelled it",
)


def latest(state="done", failure=None):
    return LatestRun(
        id=RunId("20261115-120000-abcdef"),
        state=state,
        created_at=NOON,
        started_at=NOON,
        finished_at=NOON.replace(second=3),
        failure=failure,
        job_id=JobId(4),
    )


def kept(kind, number, state, **more):
    return kind(id=number, **COMMON, created_at=NOON, last_run_at=NOON, state=state, **more)


def test_a_benchmark_is_its_outcome_and_a_place():
    spec = BenchmarkSpec(model=ModelSpec("/w/m.json"), cells=(CellSpec(cores=2, batch_size=8),))
    benchmark = kept(Benchmark, BenchmarkId(3), "cancelled", model_id=ModelId(7), spec=spec)
    outcome = BenchmarkOutcome(benchmark, latest("cancelled"), None, ())
    assert benchmark_shape(outcome, SURROUNDINGS) == {
        **COMMON,
        "id": 3,
        "model": MODEL,
        "dataset": DATASET,
        "mode": "performance",
        "result": None,
        "batch_size": 8,
        "warmup_iterations": 10,
        "iterations": -1,
        "number_of_instance": 1,
        "cores_per_instance": 2,
        "config_path": "/w/run/config.yaml",
        "log_path": "/w/run/log.txt",
        "execution_command": "modeldyno bench --config /w/run/config.yaml",
        "status": "error",
        **RAN,
        "note": "Somebody cancelled it; the shape does not fit",
    }


def test_a_profiling_is_a_profile_and_a_place():
    spec = ProfileSpec(model=ModelSpec("/w/m.json"), cell=CellSpec(cores=4, engine="scripted"))
    profile = kept(Profile, ProfileId(5), "done", model_id=ModelId(7), settings=encode(spec))
    shape = profile_shape(RunnableDetails(profile, ("m",), latest()), SURROUNDINGS)
    command = shape.pop("execution_command")
    assert command.startswith("modeldyno profile /w/m.json")
    assert "--cores 2" in command
    assert shape == {
        **COMMON,
        "id": 5,
        "model": MODEL,
        "dataset": DATASET,
        "num_threads": 4,
        "log_path": "/w/run/log.txt",
        "status": "success",
        **RAN,
        "note": "the shape does not fit; ran with 2 threads; asked 4",
    }
    row = OpMicroseconds(
        op_type="Conv", total_us=9, accelerator_us=0, cpu_us=9, op_run=2, op_defined=1
    )
    assert op_rows_shape(5, [row], NOON) == [
        {
            "profiling_id": 5,
            "id": 1,
            "node_name": "Conv",
            "total_execution_time": 9,
            "accelerator_execution_time": 0,
            "cpu_execution_time": 9,
            "op_run": 2,
            "op_defined": 1,
            "created_at": "2026-11-15 12:00:00",
        }
    ]


@pytest.mark.parametrize("trials", [None, ()])
def test_an_optimization_has_tuning_details_where_its_trials_are_known(trials):
    optimization = kept(
        Optimization,
        OptimizationId(2),
        "failed",
        model_id=ModelId(7),
        type="quantization",
        precision="int8",
        dataset_id=DatasetId(1),
    )
    failure = {"code": "NOT_YET", "title": "it is not there yet", "why": "", "fix": ""}
    details = OptimizationDetails(
        optimization=optimization,
        dataset_name="d",
        latest=latest("failed", failure),
        made=None,
        pins={"accuracy": BenchmarkId(9)},
    )
    place = Surroundings(model=None, dataset={"id": 1, "name": "d"}, log="/w/run/log.txt")
    shape = optimization_shape(details, place, trials)
    tuning = shape.pop("tuning_details")
    assert tuning is None if trials is None else tuning["tuning_history"] is None
    assert shape == {
        **COMMON,
        "id": 2,
        "precision": {"id": 3, "name": "int8"},
        "optimization_type": {"id": 1, "name": "Quantization"},
        "dataset": {"id": 1, "name": "d"},
        "config_path": None,
        "log_path": "/w/run/log.txt",
        "execution_command": None,
        "batch_size": 100,
        "sampling_size": 100,
        "status": "error",
        **RAN,
        "optimized_model": None,
        "accuracy_benchmark_id": 9,
        "performance_benchmark_id": None,
        "diagnosis_config": {},
        "note": "It is not there yet",
    }


@pytest.mark.parametrize("module", ["runnable_shapes", "shapes"])
def test_a_shape_reads_neither_the_store_nor_the_machine(module):
    tree = ast.parse((FOLDER / f"{module}.py").read_text())
    imported = {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    plain = {"__future__", "collections.abc", "dataclasses", "datetime", "typing"}
    ours = ("modeldyno.api.inc.shapes", "modeldyno.api.inc.naming", "modeldyno.api.errors")
    pure = ("modeldyno.core.", *ours)
    assert [name for name in imported - plain if not name.startswith(pure)] == []
    assert imported > plain & imported
