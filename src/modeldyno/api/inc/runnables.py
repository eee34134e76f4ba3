"""What all kinds of runs share: execute, delete, and the files of the latest run."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastapi import Response

from modeldyno.api.inc.announcing import Announcer, RunEvents
from modeldyno.api.inc.dummy_sizes import changed_sizes, note_if_unfit, sizes_from_dataset
from modeldyno.api.inc.operations import PROCESSING, Operations
from modeldyno.api.inc.parameters import Parameters
from modeldyno.api.inc.shapes import (
    NO_DATASET,
    Json,
    Surroundings,
    dataset_shape,
    iterate_all_pages,
    model_shape,
)
from modeldyno.core.benchmarks import Benchmark
from modeldyno.core.datasets import Dataset
from modeldyno.core.errors import BadValue, FileNotFound, NotFound, WrongState
from modeldyno.core.ids import DatasetId, ModelId, ProjectId
from modeldyno.core.models import Model
from modeldyno.core.profiles import Profile
from modeldyno.core.runs import LatestRun, RunOf, State
from modeldyno.core.specs import ModelSpec
from modeldyno.measure.cpus import allowed_cpus
from modeldyno.services.run_logs import read_chunk
from modeldyno.store.configs import NAME as CONFIG

if TYPE_CHECKING:
    from modeldyno.services.archive import Archive
    from modeldyno.services.jobs import JobService
    from modeldyno.services.runnables import RunnableService
    from modeldyno.store.history import History
    from modeldyno.store.records.all import Records

MOST_BYTES = 1 << 20  # of a log: its end
SLOWEST_S = 3600


@dataclass(frozen=True, slots=True)
class Runnables:
    records: Records
    history: History
    jobs: JobService
    archive: Archive
    announcer: Announcer

    def operations(
        self, service: RunnableService[Any, Any], events: RunEvents, *, cascade: bool = True
    ) -> Operations:
        """``<name>``, ``<name>/execute``, ``/delete``, ``/config.yaml`` and ``/output.log``, with
        the name that clients use; from now on its runs are announced."""
        name = events.name
        self.announcer.add_kind(service.kind, events)

        def file(parameters: Parameters, file_name: str) -> Path | None:
            run = service.details(parameters.id()).latest
            path = self.history.folder_path(run.id) / file_name if run else None
            return path if path and path.is_file() else None

        return {
            name: lambda parameters: events.details(parameters.id()),
            f"{name}/execute": lambda parameters: self._execute_operation(
                parameters, name, service
            ),
            f"{name}/delete": lambda parameters: self._delete_operation(
                parameters, name, service, cascade
            ),
            f"{name}/config.yaml": lambda parameters: _config_response(
                parameters, file(parameters, CONFIG)
            ),
            f"{name}/output.log": lambda parameters: _log_response(
                parameters, file(parameters, "log.txt")
            ),
        }

    # ------------------------------------------------------------ surroundings

    def dataset(self, number: DatasetId | None) -> Dataset | None:
        return self.records.datasets.get(number) if number else None

    def surroundings_of(
        self, runnable: Benchmark | Profile, latest: LatestRun | None
    ) -> Surroundings:
        """For the details of one, with the reason of its job."""
        dataset = self.dataset(runnable.dataset_id)
        surroundings = _make_surroundings(self.records.models.get(runnable.model_id), dataset)
        return replace(surroundings, **self._file_paths(latest), reason=self.job_reason(latest))

    def all_surroundings(
        self, project_id: ProjectId
    ) -> Callable[[Benchmark | Profile, LatestRun | None], Surroundings | None]:
        """For a list, in two queries; None if the model has just been deleted."""
        models = {
            model.id: model for model in iterate_all_pages(self.records.models.page, project_id)
        }
        datasets: dict[DatasetId | None, Dataset] = {
            dataset.id: dataset
            for dataset in iterate_all_pages(self.records.datasets.page, project_id)
        }

        @cache  # few models and datasets, many rows
        def shared(model_id: ModelId, dataset_id: DatasetId | None) -> Surroundings | None:
            model = models.get(model_id)
            return _make_surroundings(model, datasets.get(dataset_id)) if model else None

        def surroundings(
            runnable: Benchmark | Profile, latest: LatestRun | None
        ) -> Surroundings | None:
            without_run = shared(runnable.model_id, runnable.dataset_id)
            files = self._file_paths(latest)
            return replace(without_run, **files) if without_run and files else without_run

        return surroundings

    def _file_paths(self, latest: LatestRun | None) -> Json:
        if latest is None or latest.started_at is None:
            return {}
        folder = self.history.folder_path(latest.id)
        return {"config": f"{folder}/{CONFIG}", "log": f"{folder}/log.txt"}

    def job_reason(self, latest: LatestRun | None) -> str:
        job = self.records.jobs.find_of_run(latest.id) if latest else None
        return job.reason if job else ""

    # ------------------------------------------------------------ changes

    def sizes(self, dataset_id: DatasetId | None, model_id: ModelId) -> dict[str, int]:
        return sizes_from_dataset(self.dataset(dataset_id), self.records.models.get(model_id))

    def changed_model(self, before: Benchmark | Profile, dataset_id: DatasetId | None) -> ModelSpec:
        """With the sizes of the new dataset, if there is one."""
        model = before.spec.model
        if dataset_id is None:
            return model
        datasets = self.dataset(before.dataset_id), self.dataset(dataset_id)
        sizes = changed_sizes(model.dims, *datasets, self.records.models.get(before.model_id))
        return replace(model, dims=sizes)

    # ------------------------------------------------------------ operations

    def _execute_operation(
        self, parameters: Parameters, name: str, service: RunnableService[Any, Any]
    ) -> Json:
        """Answers at once; the announcer reports the outcome. If starting raises, nothing was
        started and nothing will be announced."""
        request_id = request_of(parameters)
        number = number_of(parameters, f"{name}_id")
        with self.records.database.writing():
            if active := self.records.runs.active(RunOf(service.kind, number)):
                is_running = active[0].state == "running"
                raise WrongState(
                    f"This {name} is already running",
                    why="it is being measured" if is_running else "it waits in the queue",
                    fix=f"Wait for {name}_finish, or delete it",
                )
            job = service.start(number, request_id=request_id, fits=True)
            self.announcer.remember(job.run_id, request_id)
        return PROCESSING

    def _delete_operation(
        self, parameters: Parameters, name: str, service: RunnableService[Any, Any], cascade: bool
    ) -> Json:
        """Answers ``{"id": null}``, and deletes nothing, if number and name do not match.

        An active run is stopped first, and its end is announced once.
        """
        if "id" not in parameters or "name" not in parameters:
            raise BadValue(f"Missing {name} id or {name} name.")
        number = parameters.id()
        try:
            if service.get(number).name != parameters.text("name"):
                return {"id": None}
            self.jobs.stop(RunOf(service.kind, number))
            with self.archive.translated_deletion():
                service.delete(number, cascade=cascade)
        except NotFound:  # perhaps another client was quicker
            return {"id": None}
        return {"id": number}


def _make_surroundings(model: Model, dataset: Dataset | None) -> Surroundings:
    """Without a run."""
    return Surroundings(
        model=model_shape(model),
        dataset=dataset_shape(dataset) if dataset else NO_DATASET,
        unfit=note_if_unfit(dataset, model),
        cores=len(allowed_cpus()),
    )


@contextlib.contextmanager
def translated_state_errors(noun: str, state: State) -> Iterator[None]:
    """Words the refusal to change settings after a run as clients know it."""
    try:
        yield
    except WrongState as error:
        if state == "draft":  # refused for another reason
            raise
        raise WrongState(
            f"Can not modify {noun} that has been run.",
            why=error.why,
            fix=f"Add another {noun.strip()}",
        ) from error


def _config_response(parameters: Parameters, file: Path | None) -> Response:
    if file is None:
        raise FileNotFound("Unable to find config file")
    return Response(
        file.read_bytes(), media_type="text/vnd.yaml", headers=_refresh_answer(parameters)
    )


def _log_response(parameters: Parameters, file: Path | None) -> Response:
    if file is None:
        raise FileNotFound("Unable to find output log")
    text = read_chunk(file, max(0, file.stat().st_size - MOST_BYTES), MOST_BYTES).text
    return Response(text, media_type="text/plain", headers=_refresh_answer(parameters))


def request_of(parameters: Parameters) -> str:
    """Echoed in events, but no key: clients use the same one twice."""
    request_id = parameters.value("request_id")
    if isinstance(request_id, int | float) and not isinstance(request_id, bool):
        return str(request_id)
    if request_id is None or request_id == "":
        raise BadValue("Missing request id.")
    return parameters.text("request_id")


def number_of(parameters: Parameters, name: str) -> int:
    """``name``, or else, as in the original, the only other parameter with "id" in its name."""
    if name in parameters:
        return parameters.id(name)
    others = [
        key for key in parameters.raw if "id" in key and key != "request_id" and key in parameters
    ]
    return parameters.id(others[0] if len(others) == 1 else name)


def _refresh_answer(parameters: Parameters) -> dict[str, str]:
    """Makes browsers reload after so many seconds."""
    seconds = parameters.integer("autorefresh", 0, most=SLOWEST_S)
    return {"refresh": str(seconds)} if seconds else {}
