"""A project around an example: its model, made-up samples, a quantization and a benchmark."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Literal, Protocol

from modeldyno.core.datasets import NewDataset
from modeldyno.core.errors import EngineUnavailable, ModeldynoError, TooBusy
from modeldyno.core.examples import Example
from modeldyno.core.ids import BenchmarkId, DatasetId, ModelId, OptimizationId, ProjectId
from modeldyno.core.models import Boundary
from modeldyno.core.names import checked_name
from modeldyno.core.optimizations import NewOptimization
from modeldyno.core.requests.measuring import BenchmarkRequest
from modeldyno.core.results import Failure
from modeldyno.core.specs import BenchmarkSpec
from modeldyno.measure.cpus import allowed_cpus
from modeldyno.services.background import BackgroundPool, unexpected_failure
from modeldyno.services.benchmarks import BenchmarkService
from modeldyno.services.examples import ExampleService
from modeldyno.services.model_files import ModelFiles, PreparedModel
from modeldyno.services.projects import INPUT_MODEL
from modeldyno.services.requests import make_benchmark_spec
from modeldyno.store.records.all import Records

logger = logging.getLogger(__name__)

MOST_WAITING = 20
WARMUP = 5
MOST_CORES = 4

Step = Literal["download", "project", "model", "dataset", "optimization", "benchmark"]


class ExampleProjectListener(Protocol):
    """Called from one thread, for each step once; must be quick."""

    def began(self) -> None: ...
    def step(self, step: Step) -> None: ...
    def downloading(self, address: str) -> None: ...
    def arrived(self, done_bytes: int, total_bytes: int | None) -> None: ...
    def downloaded(self, path: Path) -> None: ...
    def made(self, ids: ExampleProject) -> None: ...
    def failed(self, failure: Failure) -> None: ...


@dataclass(frozen=True)
class ExampleProject:
    project_id: ProjectId
    model_id: ModelId
    dataset_id: DatasetId
    optimization_id: OptimizationId
    benchmark_id: BenchmarkId


class ExampleProjects:
    """One at a time, so that two that need the same file download it once."""

    def __init__(
        self,
        records: Records,
        examples: ExampleService,
        files: ModelFiles,
        benchmarks: BenchmarkService,
    ) -> None:
        self._records = records
        self._examples = examples
        self._files = files
        self._benchmarks = benchmarks
        self._is_closing = threading.Event()
        self._pool = BackgroundPool(1, "example-projects")

    def start(self, slug: str, name: str, listener: ExampleProjectListener) -> None:
        """Whatever happens, ``listener`` is called once with the end, ``made`` or ``failed``.

        Raises ExampleNotFound, BadValue for a name that no project can have, and TooBusy; then it
        is never called.
        """
        example = self._examples.get(slug).example
        name = checked_name(name)
        if self._pool.pending >= MOST_WAITING:
            raise TooBusy(
                f"{MOST_WAITING} examples are already being downloaded",
                why="they are downloaded one at a time",
                fix="Wait until some have arrived",
            )
        running = self._pool.submit(self._run, example, name, listener)
        running.add_done_callback(partial(_report_cancellation, listener))

    def close(self) -> bool:
        """What was downloaded stays for the next time. False: one is still at work."""
        self._is_closing.set()
        return self._pool.close()

    def _run(self, example: Example, name: str, listener: ExampleProjectListener) -> None:
        try:
            listener.began()
            prepared = self._receive_model_file(example, listener)
            made = self._add(example, name, prepared, listener.step)
        except ModeldynoError as error:
            logger.warning("example project %s: %s", example.slug, error)
            listener.failed(Failure.of(error))
        except Exception as error:
            logger.exception("example project %s", example.slug)
            listener.failed(unexpected_failure(error))
        else:
            listener.made(made)

    def _receive_model_file(
        self, example: Example, listener: ExampleProjectListener
    ) -> PreparedModel:
        """Inspected at once: a model that cannot be read makes no project."""
        listener.step("download")
        status = self._examples.get(example.slug)
        if status.available and not status.can_run:
            raise EngineUnavailable(
                f"{example.name} cannot be run here",
                why=f"no installed engine reads files of its format ({example.format})",
                fix="Choose an ONNX example",
            )
        if status.available:  # else fetching raises the reason
            listener.downloading(self._examples.address(example))
        stop = self._is_closing.is_set
        fetched = self._examples.fetch(example.slug, listener.arrived, stop)
        listener.downloaded(fetched.path)
        return self._files.prepare_stored(
            example.file_name, fetched.stored, "example", fetched.source
        )

    def _add(
        self, example: Example, name: str, prepared: PreparedModel, step: Callable[[Step], None]
    ) -> ExampleProject:
        """All rows or none."""
        records, new = self._records, prepared.new
        boundary = replace(
            new.boundary or Boundary(), inputs=example.inputs, outputs=example.outputs
        )
        with records.database.writing():
            step("project")
            project_id = records.projects.add(name).id
            step("model")
            model_id = prepared.add(
                project_id=project_id, name=INPUT_MODEL, domain=example.domain, boundary=boundary
            ).id
            step("dataset")
            dataset_id = records.datasets.add(_dummy_dataset(project_id, example)).id
            step("optimization")
            optimization_id = records.optimizations.add(
                NewOptimization(
                    project_id=project_id,
                    model_id=model_id,
                    name=f"{example.name} quantization",
                    type="quantization",
                    precision="int8",
                    dataset_id=dataset_id,
                )
            ).id
            step("benchmark")
            benchmark, _ = self._benchmarks.create(
                project_id,
                model_id,
                f"{example.name} benchmark",
                _benchmark_spec,
                dataset_id=dataset_id,
            )
        return ExampleProject(project_id, model_id, dataset_id, optimization_id, benchmark.id)


def _report_cancellation(listener: ExampleProjectListener, ended: Future[None]) -> None:
    if ended.cancelled():
        listener.failed(Failure("CANCELLED", "The server is being stopped"))


def _dummy_dataset(project_id: ProjectId, example: Example) -> NewDataset:
    shapes = [[*shape] for shape in example.input_shapes]
    parameters = {"input_shape": shapes, "label_shape": [1]}
    return NewDataset(project_id=project_id, name="dummy", kind="dummy_v2", parameters=parameters)


def _benchmark_spec(path: str) -> BenchmarkSpec:
    cpus = len(allowed_cpus())
    cores = min(MOST_CORES, cpus)
    request = BenchmarkRequest(cores=(cores,), instances=(cpus // cores,), warmup=WARMUP)
    return make_benchmark_spec(request, path)
