"""What everything that can run has in common: execute, delete, and the files of its latest run."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastapi import Response

from modeldyno.api.inc.announcing import Announcer, Speech
from modeldyno.api.inc.dataset_shape import NO_DATASET, dataset_shape
from modeldyno.api.inc.dummy_sizes import changed_sizes, sizes_said, unfit_note
from modeldyno.api.inc.model_shape import model_shape
from modeldyno.api.inc.operations import PROCESSING, Operations
from modeldyno.api.inc.parameters import Parameters
from modeldyno.api.inc.shapes import Json, Place, everything
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

MOST_BYTES = 1 << 20  # of a long log, the end
SLOWEST_S = 3600


@dataclass(frozen=True, slots=True)
class Runnables:
    """``name`` is what clients call a kind: our profile is their profiling."""

    records: Records
    history: History
    jobs: JobService
    archive: Archive
    announcer: Announcer

    def operations(
        self, service: RunnableService[Any, Any], speech: Speech, *, cascade: bool = True
    ) -> Operations:
        """``<name>`` itself, its ``execute``, ``delete``, ``config.yaml`` and ``output.log``; from
        now on its runs are announced."""
        name = speech.name
        self.announcer.speaks(service.kind, speech)

        def file(asked: Parameters, file_name: str) -> Path | None:
            run = service.details(asked.id()).latest
            path = self.history.path(run.id) / file_name if run else None
            return path if path and path.is_file() else None

        return {
            name: lambda asked: speech.details(asked.id()),
            f"{name}/execute": lambda asked: self._execute(asked, name, service),
            f"{name}/delete": lambda asked: self._delete(asked, name, service, cascade),
            f"{name}/config.yaml": lambda asked: _config(asked, file(asked, CONFIG)),
            f"{name}/output.log": lambda asked: _log(asked, file(asked, "log.txt")),
        }

    # ------------------------------------------------------------ places

    def dataset(self, number: DatasetId | None) -> Dataset | None:
        return self.records.datasets.get(number) if number else None

    def place_of(self, runnable: Benchmark | Profile, latest: LatestRun | None) -> Place:
        """For details of one, with the reason of its job."""
        dataset = self.dataset(runnable.dataset_id)
        place = _place(self.records.models.get(runnable.model_id), dataset)
        return replace(place, **self._files(latest), reason=self.reason(latest))

    def places(
        self, project_id: ProjectId
    ) -> Callable[[Benchmark | Profile, LatestRun | None], Place | None]:
        """The same for a list, in two queries; None of what was deleted a moment ago."""
        models = {model.id: model for model in everything(self.records.models.page, project_id)}
        datasets: dict[DatasetId | None, Dataset] = {
            dataset.id: dataset for dataset in everything(self.records.datasets.page, project_id)
        }

        @cache  # few models and datasets, many rows
        def shared(model_id: ModelId, dataset_id: DatasetId | None) -> Place | None:
            model = models.get(model_id)
            return _place(model, datasets.get(dataset_id)) if model else None

        def place(runnable: Benchmark | Profile, latest: LatestRun | None) -> Place | None:
            same = shared(runnable.model_id, runnable.dataset_id)
            files = self._files(latest)
            return replace(same, **files) if same and files else same

        return place

    def _files(self, latest: LatestRun | None) -> Json:
        if latest is None or latest.started_at is None:
            return {}
        folder = self.history.path(latest.id)
        return {"config": f"{folder}/{CONFIG}", "log": f"{folder}/log.txt"}

    def reason(self, latest: LatestRun | None) -> str:
        job = self.records.jobs.of_run(latest.id) if latest else None
        return job.reason if job else ""

    # ------------------------------------------------------------ changes

    def sizes(self, dataset_id: DatasetId | None, model_id: ModelId) -> dict[str, int]:
        return sizes_said(self.dataset(dataset_id), self.records.models.get(model_id))

    def changed_model(self, before: Benchmark | Profile, dataset_id: DatasetId | None) -> ModelSpec:
        """With the sizes that another dataset says; None: it stays."""
        model = before.spec.model
        if dataset_id is None:
            return model
        datasets = self.dataset(before.dataset_id), self.dataset(dataset_id)
        sizes = changed_sizes(model.dims, *datasets, self.records.models.get(before.model_id))
        return replace(model, dims=sizes)

    # ------------------------------------------------------------ operations

    def _execute(
        self, asked: Parameters, name: str, service: RunnableService[Any, Any]
    ) -> dict[str, Any]:
        """Answer at once; the announcer reports what becomes of it. What starting it raises is the
        answer: then nothing was started, and nothing will be reported."""
        request_id = request_of(asked)
        number = number_of(asked, f"{name}_id")
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

    def _delete(
        self, asked: Parameters, name: str, service: RunnableService[Any, Any], cascade: bool
    ) -> dict[str, Any]:
        """``{"id": null}`` when number and name do not belong together: then nothing happens.

        What runs is stopped first, and its end is reported once.
        """
        if "id" not in asked or "name" not in asked:
            raise BadValue(f"Missing {name} id or {name} name.")
        number = asked.id()
        try:
            if service.get(number).name != asked.text("name"):
                return {"id": None}
            self.jobs.stop(RunOf(service.kind, number))
            with self.archive.deleting():
                service.delete(number, cascade=cascade)
        except NotFound:  # also when another client was quicker
            return {"id": None}
        return {"id": number}


def _place(model: Model, dataset: Dataset | None) -> Place:
    """Without a run."""
    return Place(
        model=model_shape(model),
        dataset=dataset_shape(dataset) if dataset else NO_DATASET,
        unfit=unfit_note(dataset, model),
        cores=len(allowed_cpus()),
    )


@contextlib.contextmanager
def before_its_first_run(noun: str, state: State) -> Iterator[None]:
    """What refuses to be changed since it was run says so in the words that clients know."""
    try:
        yield
    except WrongState as error:
        if state == "draft":  # for another reason
            raise
        raise WrongState(
            f"Can not modify {noun} that has been run.",
            why=error.why,
            fix=f"Add another {noun.strip()}",
        ) from error


def _config(asked: Parameters, file: Path | None) -> Response:
    if file is None:
        raise FileNotFound("Unable to find config file")
    return Response(file.read_bytes(), media_type="text/vnd.yaml", headers=_refresh(asked))


def _log(asked: Parameters, file: Path | None) -> Response:
    if file is None:
        raise FileNotFound("Unable to find output log")
    text = read_chunk(file, max(0, file.stat().st_size - MOST_BYTES), MOST_BYTES).text
    return Response(text, media_type="text/plain", headers=_refresh(asked))


def request_of(asked: Parameters) -> str:
    """Only echoed, never a key: clients use the same one twice."""
    found = asked.value("request_id")
    if isinstance(found, int | float) and not isinstance(found, bool):
        return str(found)
    if found is None or found == "":
        raise BadValue("Missing request id.")
    return asked.text("request_id")


def number_of(asked: Parameters, name: str) -> int:
    """``name``; or, as the original took it, the one other key with "id" in it."""
    if name in asked:
        return asked.id(name)
    others = [key for key in asked.said if "id" in key and key != "request_id" and key in asked]
    return asked.id(others[0] if len(others) == 1 else name)


def _refresh(asked: Parameters) -> dict[str, str]:
    """Browsers ask again by themselves after so many seconds."""
    seconds = asked.whole("autorefresh", 0, most=SLOWEST_S)
    return {"refresh": str(seconds)} if seconds else {}
