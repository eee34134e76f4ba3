"""Try one inference of a model, beside whatever is measured; who asked may think better of it."""

from __future__ import annotations

import threading
from contextlib import ExitStack

from modeldyno.core.errors import TooBusy
from modeldyno.core.ids import ModelId, RunId
from modeldyno.core.inferences import InferenceResult
from modeldyno.core.jobs import JobMessage
from modeldyno.core.specs import CellSpec, InferenceSpec, ModelSpec
from modeldyno.jobs.protocol import Jobs
from modeldyno.jobs.recording import Ending, keep
from modeldyno.services.boundaries import bounded, of_content
from modeldyno.services.models import ModelService
from modeldyno.services.requests import default_memory_limit
from modeldyno.store.runs import RunFolder, Runs
from modeldyno.worker.trees import temporary_folder

LIMIT_S = 60.0


class Attempt:
    """One that was begun. Whoever began it closes it, whatever became of it."""

    def __init__(self, jobs: Jobs, folder: RunFolder, ending: Ending, held: ExitStack) -> None:
        self._jobs = jobs
        self._folder = folder
        self._ending = ending
        self._held = held

    def result(self) -> InferenceResult:
        """Waits for it; raises what went wrong, or Cancelled."""
        self._jobs.wait(self._folder.id)
        found = self._ending.result_or_raise()
        assert isinstance(found, InferenceResult)
        return found

    def cancel(self) -> None:
        """It ends within two seconds."""
        self._jobs.cancel(self._folder.id)

    def close(self) -> None:
        self._held.close()


class InferenceService:
    """One at a time: each takes a core, and people wait for it."""

    def __init__(self, models: ModelService, jobs: Jobs) -> None:
        self._models = models
        self._jobs = jobs
        self._free = threading.Lock()

    @property
    def is_busy(self) -> bool:
        return self._free.locked()

    def begin(
        self, model_id: ModelId, engine: str = "", batch_size: int = 1, limit_s: float = LIMIT_S
    ) -> Attempt:
        """Raises NotFound, UnsafeFormat, WrongState for what may not run, and TooBusy."""
        model = self._models.runnable(model_id)
        spec = InferenceSpec(
            of_content(ModelSpec(model.path), model),
            bounded(CellSpec(engine=engine, batch_size=batch_size), model),
            timeout_s=limit_s,
            memory_limit_bytes=default_memory_limit(),
        )
        if not self._free.acquire(blocking=False):
            raise TooBusy(
                "Another model is being tried",
                why="one is tried at a time",
                fix="Try again in a few seconds",
            )
        with ExitStack() as held:
            held.callback(self._free.release)
            place = held.enter_context(temporary_folder())
            store, ending = Runs(place), Ending()
            folder = store.create(spec)

            def record(run_id: RunId, message: JobMessage) -> None:
                keep(store, run_id, message, ending)

            self._jobs.submit(folder, spec, record)
            return Attempt(self._jobs, folder, ending, held.pop_all())
