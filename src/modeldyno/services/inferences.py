"""Try one inference of a model, beside measurements; the client may cancel it."""

from __future__ import annotations

import threading
from contextlib import ExitStack

from modeldyno.core.errors import TooBusy
from modeldyno.core.ids import ModelId, RunId, new_run_id
from modeldyno.core.jobs import JobMessage
from modeldyno.core.sessions import InferenceResult
from modeldyno.core.specs import CellSpec, InferenceSpec, ModelSpec
from modeldyno.jobs.protocol import Jobs
from modeldyno.jobs.recording import Ending, note_ending
from modeldyno.services.graph_boundaries import pin_to_trusted_content, with_boundary
from modeldyno.services.models import ModelService
from modeldyno.services.requests import default_memory_limit

LIMIT_S = 60.0


class PendingInference:
    """To be closed by whoever began it, whatever the outcome."""

    def __init__(self, jobs: Jobs, run_id: RunId, ending: Ending, held: ExitStack) -> None:
        self._jobs = jobs
        self._run_id = run_id
        self._ending = ending
        self._held = held

    def result(self) -> InferenceResult:
        """Wait for it; raises the run's error, or Cancelled."""
        self._jobs.wait(self._run_id)
        result: InferenceResult = self._ending.result_or_raise()
        return result

    def cancel(self) -> None:
        """It ends within two seconds."""
        self._jobs.cancel(self._run_id)

    def close(self) -> None:
        self._held.close()


class InferenceService:
    """One at a time: each takes a core that a measurement may be using."""

    def __init__(self, models: ModelService, jobs: Jobs) -> None:
        self._models = models
        self._jobs = jobs
        self._free = threading.Lock()

    @property
    def is_busy(self) -> bool:
        return self._free.locked()

    def start(
        self, model_id: ModelId, engine: str = "", batch_size: int = 1, limit_s: float = LIMIT_S
    ) -> PendingInference:
        """Raises NotFound, UnsafeFormat, WrongState if it may not run, and TooBusy."""
        model = self._models.require_runnable(model_id)
        spec = InferenceSpec(
            pin_to_trusted_content(ModelSpec(model.path), model),
            with_boundary(CellSpec(engine=engine, batch_size=batch_size), model),
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
            run_id, ending = new_run_id(), Ending()

            def record(_: RunId, message: JobMessage) -> None:
                note_ending(message, ending)

            self._jobs.submit(run_id, spec, record)
            return PendingInference(self._jobs, run_id, ending, held.pop_all())
