"""A project around an example: its model, made-up samples, a quantization and a benchmark."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
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
from modeldyno.services.background import log_failure
from modeldyno.services.benchmarks import BenchmarkService
from modeldyno.services.examples import ExampleService
from modeldyno.services.model_files import ModelFiles, PreparedModel
from modeldyno.services.projects import INPUT_MODEL
from modeldyno.services.requests import benchmark_spec
from modeldyno.store.records.all import Records

logger = logging.getLogger(__name__)

MOST_WAITING = 20
LEAVE_S = 5.0  # for the one under way to notice that we close
WARMUP = 5
MOST_CORES = 4

Step = Literal["download", "project", "model", "dataset", "optimization", "benchmark"]


class ExampleProjectListener(Protocol):
    """Hears how far it is, from one thread, each step once; must be quick."""

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
    """One after the other, in a thread of its own: two that want the same file fetch it once."""

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
        self._thread = ThreadPoolExecutor(1, "example-projects")
        self._under_way: dict[Future[None], ExampleProjectListener] = {}

    def start(self, slug: str, name: str, listener: ExampleProjectListener) -> None:
        """``listener`` hears of one end, ``made`` or ``failed``, whatever happens.

        Raises ExampleNotFound, BadValue for a name that no project can have, and TooBusy: then it
        hears nothing.
        """
        example = self._examples.get(slug).example
        name = checked_name(name)
        if len(self._under_way) >= MOST_WAITING:
            raise TooBusy(
                f"{MOST_WAITING} examples are on their way already",
                why="they are fetched one at a time",
                fix="Wait until some have arrived",
            )
        running = self._thread.submit(self._run, example, name, listener)
        self._under_way[running] = listener
        running.add_done_callback(self._left)
        running.add_done_callback(log_failure)

    def close(self) -> bool:
        """What has come of a download stays for the next time. False: one is still at work."""
        self._is_closing.set()
        self._thread.shutdown(wait=False, cancel_futures=True)
        return not wait((*self._under_way,), LEAVE_S).not_done

    def _left(self, ended: Future[None]) -> None:
        listener = self._under_way.pop(ended)
        if ended.cancelled():
            listener.failed(Failure("CANCELLED", "The server is being stopped", "", ""))

    def _run(self, example: Example, name: str, listener: ExampleProjectListener) -> None:
        try:
            listener.began()
            prepared = self._fetched(example, listener)
            made = self._added(example, name, prepared, listener.step)
        except ModeldynoError as error:
            logger.warning("example project %s: %s", example.slug, error)
            listener.failed(Failure.of(error))
        except Exception as error:
            logger.exception("example project %s", example.slug)
            title = f"Something went wrong: {type(error).__name__}"
            listener.failed(Failure("BUG", title, "", ""))
        else:
            listener.made(made)

    def _fetched(self, example: Example, listener: ExampleProjectListener) -> PreparedModel:
        """Looked into already: what cannot be read makes no project."""
        listener.step("download")
        shown = self._examples.get(example.slug)
        if shown.available and not shown.can_run:
            raise EngineUnavailable(
                f"{example.name} cannot be run here",
                why=f"no engine that is installed reads files of its format ({example.format})",
                fix="Choose an ONNX example",
            )
        if shown.available:  # else nothing begins: fetching says why
            listener.downloading(self._examples.address(example))
        stop = self._is_closing.is_set
        fetched = self._examples.fetch(example.slug, listener.arrived, stop)
        listener.downloaded(fetched.path)
        return self._files.prepared_stored(
            example.file_name, fetched.stored, "example", fetched.source
        )

    def _added(
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
            dataset_id = records.datasets.add(_dummy(project_id, example)).id
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
                project_id, model_id, f"{example.name} benchmark", _spec, dataset_id=dataset_id
            )
        return ExampleProject(project_id, model_id, dataset_id, optimization_id, benchmark.id)


def _dummy(project_id: ProjectId, example: Example) -> NewDataset:
    shapes = [[*shape] for shape in example.input_shapes]
    parameters = {"input_shape": shapes, "label_shape": [1]}
    return NewDataset(project_id=project_id, name="dummy", kind="dummy_v2", parameters=parameters)


def _spec(path: str) -> BenchmarkSpec:
    cpus = len(allowed_cpus())
    cores = min(MOST_CORES, cpus)
    request = BenchmarkRequest(cores=(cores,), instances=(cpus // cores,), warmup=WARMUP)
    return benchmark_spec(request, path)
