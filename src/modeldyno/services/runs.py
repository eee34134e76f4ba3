"""Start a run, keep what it says, hand back its result."""

from __future__ import annotations

import time
from collections.abc import Callable

from modeldyno.core.errors import BadValue, ModeldynoError
from modeldyno.core.ids import RunId, new_run_id
from modeldyno.core.jobs import JobMessage, Result, Unit
from modeldyno.core.specs import RunSpec
from modeldyno.jobs.protocol import Jobs
from modeldyno.jobs.recording import Ending, keep, remember
from modeldyno.store.runs import RunFolders

Listener = Callable[[JobMessage], None]

PATIENCE_S = 5.0  # cancelling takes two at the most


class RunService:
    def __init__(self, store: RunFolders, jobs: Jobs) -> None:
        self._store = store
        self._jobs = jobs

    def run(self, spec: RunSpec, listen: Listener | None = None) -> Result:
        """Run a spec to its end. Ctrl-C stops it and hands back what was measured."""
        if not spec.is_kept:  # looking leaves no trace in the workspace
            return self._look(spec, listen)
        run_id = self._store.create(spec).id
        try:
            return self._run(run_id, spec, listen)
        except ModeldynoError:
            self._store.discard_if_empty(run_id)
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
        self._store.reopen(run_id)
        return self._run(run_id, spec, listen, units)

    def _run(
        self,
        run_id: RunId,
        spec: RunSpec,
        listen: Listener | None,
        earlier: tuple[Unit, ...] = (),
    ) -> Result:
        ending = Ending()

        def record(run_id: RunId, message: JobMessage) -> None:
            keep(self._store, run_id, message, ending)
            if listen is not None:
                listen(message)  # stored before told: what is announced can be found

        self._jobs.submit(run_id, spec, record, earlier)
        try:
            self._wait(run_id)
        finally:
            self._store.clear_scratch(run_id)
        return ending.result_or_raise()

    def _look(self, spec: RunSpec, listen: Listener | None) -> Result:
        ending = Ending()

        def record(_: RunId, message: JobMessage) -> None:
            remember(message, ending)
            if listen is not None:
                listen(message)

        run_id = new_run_id()
        self._jobs.submit(run_id, spec, record)
        self._wait(run_id)
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
