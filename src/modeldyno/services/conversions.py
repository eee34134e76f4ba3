"""Conversions of models of projects, one at a time and in the background, and how far they are."""

from __future__ import annotations

import itertools
import logging
import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from pathlib import Path

from modeldyno.core.conversions import (
    SUFFIXES,
    Check,
    ConversionResult,
    ConversionState,
    Goal,
    Possibility,
)
from modeldyno.core.errors import Cancelled, ModeldynoError, NotFound, TooBusy
from modeldyno.core.ids import ConversionId, ModelId, ProjectId, RunId, new_run_id
from modeldyno.core.jobs import JobMessage, Progress
from modeldyno.core.models import Model
from modeldyno.core.redaction import without_folders
from modeldyno.core.results import Failure
from modeldyno.core.specs import ConversionSpec
from modeldyno.engines import conversions as catalog
from modeldyno.jobs.protocol import Jobs
from modeldyno.jobs.recording import Ending, remember
from modeldyno.services.background import log_failure
from modeldyno.services.boundaries import require_whole_model
from modeldyno.services.model_files import ModelFiles, pinned_spec, require_inspected
from modeldyno.services.models import ModelService
from modeldyno.services.requests import default_memory_limit
from modeldyno.store.records.all import Records
from modeldyno.worker.untrusted_folders import temporary_folder

logger = logging.getLogger(__name__)

MOST_WAITING = 20
MOST_REMEMBERED = 100
LIMIT_S = 600.0
LEAVE_S = 5.0  # for the one under way to end when we close
WAITING = "waiting"


@dataclass(frozen=True, kw_only=True)
class Conversion:
    """Of a server that is gone, nobody remembers: the model that it made says what it was."""

    id: ConversionId
    project_id: ProjectId
    model_id: ModelId  # what it is made of
    to: Goal
    state: ConversionState = "converting"
    doing: str = WAITING
    steps_done: int = 0
    steps_planned: int = 0
    made_id: ModelId | None = None  # the new model, once it is there
    checks: tuple[Check, ...] = ()
    notes: tuple[str, ...] = ()
    failure: Failure | None = None


Tell = Callable[[Conversion], None]


class ConversionService:
    def __init__(
        self, records: Records, models: ModelService, files: ModelFiles, jobs: Jobs
    ) -> None:
        self._records = records
        self._models = models
        self._files = files
        self._jobs = jobs
        self._known: OrderedDict[ConversionId, Conversion] = OrderedDict()
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()
        self._runs: dict[ConversionId, RunId | None] = {}  # of those whose turn it is
        self._stopped: set[ConversionId] = set()
        self._listeners: list[Tell] = []
        self._thread = ThreadPoolExecutor(1, "convert")
        self._under_way: dict[Future[None], None] = {}

    def on_progress(self, tell: Tell) -> None:
        """Called at each step and at the end; must be quick."""
        self._listeners.append(tell)

    def possible(self, model_id: ModelId) -> tuple[Possibility, ...]:
        """Every goal, and why this model cannot be brought there."""
        facts, _ = require_inspected(self._records.models.get(model_id))
        return catalog.possibilities(facts.format)

    def start(self, model_id: ModelId, to: Goal) -> Conversion:
        """One that is under way already is not started twice.

        Raises NotFound, UnsafeFormat, WrongState for what may not run, BadValue and PackageMissing
        for what cannot be converted so, and TooBusy.
        """
        model = self._models.runnable(model_id)
        facts, _ = require_inspected(model)
        catalog.find(facts.format, to)
        require_whole_model(model)
        with self._lock:
            open_ones = [one for one in self._known.values() if one.state == "converting"]
            for one in open_ones:
                if (one.model_id, one.to) == (model_id, to) and one.id not in self._stopped:
                    return one
            if len(open_ones) >= MOST_WAITING:
                raise TooBusy(
                    f"{MOST_WAITING} conversions wait already",
                    why="one is made at a time",
                    fix="Wait until some are done",
                )
            number = ConversionId(next(self._numbers))
            made = Conversion(id=number, project_id=model.project_id, model_id=model_id, to=to)
            self._remember(made)
        running = self._thread.submit(self._run, made)
        self._under_way[running] = None
        running.add_done_callback(lambda ended: self._under_way.pop(ended, None))
        running.add_done_callback(log_failure)
        return made

    def get(self, number: ConversionId) -> Conversion:
        with self._lock:
            found = self._known.get(number)
        if found is None:
            raise NotFound(
                f"There is no conversion {number}",
                why=f"the last {MOST_REMEMBERED} of this server are remembered",
            )
        return found

    def of(self, model_id: ModelId) -> tuple[Conversion, ...]:
        """Newest last."""
        with self._lock:
            return tuple(one for one in self._known.values() if one.model_id == model_id)

    def cancel(self, number: ConversionId) -> Conversion:
        """It ends within two seconds, and nothing is kept. What is over stays as it is."""
        found = self.get(number)
        run_id = None
        with self._lock:
            is_waiting = number not in self._runs
            now = self._known.get(number, found)
            if now.state != "converting":
                return now
            if is_waiting:  # its turn may be minutes away
                now = replace(now, state="cancelled", doing="")
                self._remember(now)
            else:
                self._stopped.add(number)
                run_id = self._runs[number]
        if is_waiting:
            self._tell(now)
        elif run_id is not None:
            self._jobs.cancel(run_id)
        return now

    def close(self) -> bool:
        """What is under way is stopped. False: it is still at work."""
        with self._lock:
            self._stopped.update(self._known)
            runs = [run_id for run_id in self._runs.values() if run_id is not None]
        for run_id in runs:
            self._jobs.cancel(run_id)
        self._thread.shutdown(wait=False, cancel_futures=True)
        return not wait((*self._under_way,), LEAVE_S).not_done

    # ------------------------------------------------------------ inside

    def _run(self, made: Conversion) -> None:
        with self._lock:
            known = self._known.get(made.id)
            if known is None or known.state != "converting":  # cancelled while it waited
                return
            self._runs[made.id] = None
        try:
            self._end(made)
        finally:
            with self._lock:
                del self._runs[made.id]
                self._stopped.discard(made.id)

    def _end(self, made: Conversion) -> None:
        """Convert it, and tell what became of it."""
        try:
            with temporary_folder() as place:
                model, result = self._convert(made, place)
        except Cancelled:
            self._change(replace(self.get(made.id), state="cancelled", doing=""))
        except ModeldynoError as error:
            logger.warning("conversion %s: %s", made.id, error)
            self._fail(made, Failure.of(error))
        except Exception as error:
            logger.exception("conversion %s", made.id)
            self._fail(
                made, Failure("BUG", f"Something went wrong: {type(error).__name__}", "", "")
            )
        else:
            now = self.get(made.id)
            self._change(
                replace(
                    now,
                    state="done",
                    doing="",
                    steps_done=now.steps_planned,
                    made_id=model.id,
                    checks=result.checks,
                    notes=tuple(without_folders(note) for note in result.notes),
                )
            )

    def _convert(self, made: Conversion, place: Path) -> tuple[Model, ConversionResult]:
        source = self._models.runnable(made.model_id)  # trust may have been taken back meanwhile
        name = Path(source.name).stem + SUFFIXES[made.to]
        results = place / "made"
        results.mkdir()
        spec = ConversionSpec(
            pinned_spec(source),
            made.to,
            str(results / f"model{SUFFIXES[made.to]}"),
            timeout_s=LIMIT_S,
            memory_limit_bytes=default_memory_limit(),
        )
        run_id, ending = new_run_id(), Ending()

        def record(_: RunId, message: JobMessage) -> None:
            remember(message, ending)
            if isinstance(message, Progress):
                self._change(
                    replace(
                        self.get(made.id),
                        doing=message.doing,
                        steps_done=message.units_done,
                        steps_planned=message.units_planned,
                    )
                )

        with self._lock:
            self._runs[made.id] = run_id
            is_stopped = made.id in self._stopped
        if is_stopped:
            raise Cancelled("Stopped before it started")
        self._jobs.submit(run_id, spec, record)
        with self._lock:
            is_stopped = made.id in self._stopped
        if is_stopped:  # a cancel that came before it was there to be cancelled
            self._jobs.cancel(run_id)
        self._jobs.wait(run_id)
        result: ConversionResult = ending.result_or_raise()
        return self._files.add_made(made.project_id, spec.output, name, source.name), result

    def _fail(self, made: Conversion, failure: Failure) -> None:
        self._change(replace(self.get(made.id), state="failed", doing="", failure=failure))

    def _change(self, conversion: Conversion) -> None:
        with self._lock:
            self._remember(conversion)
        self._tell(conversion)

    def _tell(self, conversion: Conversion) -> None:
        for tell in self._listeners:
            tell(conversion)

    def _remember(self, conversion: Conversion) -> None:
        self._known[conversion.id] = conversion
        over = [number for number, one in self._known.items() if one.state != "converting"]
        for number in over[: max(0, len(self._known) - MOST_REMEMBERED)]:
            del self._known[number]
