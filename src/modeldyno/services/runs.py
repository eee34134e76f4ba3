"""Start a run, keep what it says, hand back its result."""

from __future__ import annotations

import time
from collections.abc import Callable

from modeldyno.core.errors import BadValue, ModeldynoError
from modeldyno.core.ids import RunId
from modeldyno.core.jobs import JobMessage, Result, Unit
from modeldyno.core.specs import FLEETING, RunSpec
from modeldyno.jobs.protocol import Jobs
from modeldyno.jobs.recording import Ending, keep
from modeldyno.store.runs import RunFolder, Runs
from modeldyno.worker.trees import temporary_folder

Listener = Callable[[JobMessage], None]

PATIENCE_S = 5.0  # cancelling takes two at the most


class RunService:
    def __init__(self, store: Runs, jobs: Jobs) -> None:
        self._store = store
        self._jobs = jobs

    def run(self, spec: RunSpec, listen: Listener | None = None) -> Result:
        """Run a spec to its end. Ctrl-C stops it and hands back what was measured."""
        if isinstance(spec, FLEETING):  # looking leaves no trace in the workspace
            with temporary_folder() as place:
                store = Runs(place)
                return self._run_in(store, store.create(spec), spec, listen)
        folder = self._store.create(spec)
        try:
            return self._run_in(self._store, folder, spec, listen)
        except ModeldynoError:
            self._store.discard_if_empty(folder.id)
            raise

    def resume(self, run_id: RunId, listen: Listener | None = None) -> Result:
        """Go on with what was stopped, benchmark or comparison: what it measured counts."""
        spec = self._store.spec(run_id)
        match self._store.folder(run_id).state():
            case "done":
                fix = "Measure again in a run of its own, without --resume"
                raise BadValue(f"Run {run_id} is finished", fix=fix)
            case "running":
                fix = "Wait until it ends, or stop it"
                raise BadValue(f"Run {run_id} is being measured right now", fix=fix)
        units = tuple(self._store.units(run_id))
        folder = self._store.reopen(run_id)
        return self._run_in(self._store, folder, spec, listen, units)

    def _run_in(
        self,
        store: Runs,
        folder: RunFolder,
        spec: RunSpec,
        listen: Listener | None,
        earlier: tuple[Unit, ...] = (),
    ) -> Result:
        ending = Ending()

        def record(run_id: RunId, message: JobMessage) -> None:
            keep(store, run_id, message, ending)
            if listen is not None:
                listen(message)  # stored before told: what is announced can be found

        self._jobs.submit(folder, spec, record, earlier)
        try:
            self._wait(folder.id)
        finally:
            store.clear_scratch(folder.id)
        return ending.result_or_raise()

    def _wait(self, run_id: RunId) -> None:
        """Ctrl-C cancels. Who presses it again must wait while what was measured is being kept."""
        asked_at: float | None = None
        while True:
            try:
                if asked_at is not None:
                    self._jobs.cancel(run_id)
                return self._jobs.wait(run_id)
            except KeyboardInterrupt:
                now = time.monotonic()
                if asked_at is not None and now - asked_at > PATIENCE_S:
                    raise
                asked_at = asked_at or now
