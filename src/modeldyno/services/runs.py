"""Start a run, store what it reports, and return its result."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

from modeldyno.core.errors import BadValue, ModeldynoError
from modeldyno.core.ids import RunId, new_run_id
from modeldyno.core.jobs import JobMessage, Result, Unit
from modeldyno.core.specs import RunSpec
from modeldyno.jobs.protocol import Jobs
from modeldyno.jobs.recording import Ending, note_ending, store_message
from modeldyno.store.runs import RunFolders

Listener = Callable[[JobMessage], None]

MAX_CANCEL_S = 5.0  # cancelling takes two at most


class RunService:
    def __init__(self, store: RunFolders, jobs: Jobs) -> None:
        self._store = store
        self._jobs = jobs

    def run(self, spec: RunSpec, listen: Listener | None = None) -> Result:
        """Run a spec to its end. Ctrl-C stops it and returns what was measured."""
        if not spec.is_kept:  # inspections leave no trace in the workspace
            return self._execute(new_run_id(), spec, listen, _note_ending)
        run_id = self._store.create(spec).id
        try:
            return self._execute_and_store(run_id, spec, listen)
        except ModeldynoError:
            self._store.discard_if_empty(run_id)
            raise

    def resume(self, run_id: RunId, listen: Listener | None = None) -> Result:
        """Continue a stopped benchmark or comparison: what it measured counts."""
        spec = self._store.spec(run_id)
        match self._store.folder(run_id).state():
            case "done":
                fix = "Measure again as a new run, without --resume"
                raise BadValue(f"Run {run_id} is finished", fix=fix)
            case "running":
                fix = "Wait until it ends, or stop it"
                raise BadValue(f"Run {run_id} is being measured right now", fix=fix)
        units = tuple(self._store.units(run_id))
        self._store.reopen(run_id)
        return self._execute_and_store(run_id, spec, listen, units)

    def _execute_and_store(
        self,
        run_id: RunId,
        spec: RunSpec,
        listen: Listener | None,
        earlier: tuple[Unit, ...] = (),
    ) -> Result:
        try:
            return self._execute(run_id, spec, listen, partial(store_message, self._store), earlier)
        finally:
            self._store.clear_scratch(run_id)

    def _execute(
        self,
        run_id: RunId,
        spec: RunSpec,
        listen: Listener | None,
        store: Callable[[RunId, JobMessage, Ending], None],
        earlier: tuple[Unit, ...] = (),
    ) -> Result:
        ending = Ending()

        def record(run_id: RunId, message: JobMessage) -> None:
            store(run_id, message, ending)  # before publishing: a listener may read it
            if listen is not None:
                listen(message)

        self._jobs.submit(run_id, spec, record, earlier)
        self._wait(run_id)
        return ending.result_or_raise()

    def _wait(self, run_id: RunId) -> None:
        """Ctrl-C cancels. A second one within MAX_CANCEL_S is ignored: the run is being stored."""
        cancelled_at: float | None = None
        while True:
            try:
                if cancelled_at is not None:
                    self._jobs.cancel(run_id)
                return self._jobs.wait(run_id)
            except KeyboardInterrupt:
                now = time.monotonic()
                if cancelled_at is not None and now - cancelled_at > MAX_CANCEL_S:
                    raise
                cancelled_at = cancelled_at or now


def _note_ending(_: RunId, message: JobMessage, ending: Ending) -> None:
    note_ending(message, ending)
