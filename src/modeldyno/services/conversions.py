"""Conversions of a project's models, one at a time in the background, with their progress."""

from __future__ import annotations

import itertools
import logging
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

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
from modeldyno.jobs.recording import Ending, note_ending
from modeldyno.services.background import BackgroundPool, unexpected_failure
from modeldyno.services.graph_boundaries import require_whole_model
from modeldyno.services.model_files import ModelFiles, pinned_spec, require_inspected
from modeldyno.services.models import ModelService
from modeldyno.services.requests import default_memory_limit
from modeldyno.store.records.all import Records
from modeldyno.worker.untrusted_folders import temporary_folder

logger = logging.getLogger(__name__)

MOST_WAITING = 20
MOST_REMEMBERED = 100
LIMIT_S = 600.0
WAITING = "waiting"


@dataclass(frozen=True, kw_only=True)
class Conversion:
    """Not kept across restarts: the model that it made says where it came from."""

    id: ConversionId
    project_id: ProjectId
    model_id: ModelId  # the source
    to: Goal
    state: ConversionState = "converting"
    doing: str = WAITING
    steps_done: int = 0
    steps_planned: int = 0
    made_id: ModelId | None = None  # the new model, once it is there
    checks: tuple[Check, ...] = ()
    notes: tuple[str, ...] = ()
    failure: Failure | None = None


ConversionListener = Callable[[Conversion], None]


class ConversionService:
    def __init__(
        self, records: Records, models: ModelService, files: ModelFiles, jobs: Jobs
    ) -> None:
        self._records = records
        self._models = models
        self._files = files
        self._jobs = jobs
        self._conversions: OrderedDict[ConversionId, Conversion] = OrderedDict()
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()
        self._runs: dict[ConversionId, RunId | None] = {}  # of those that have begun
        self._stopped: set[ConversionId] = set()
        self._listeners: list[ConversionListener] = []
        self._pool = BackgroundPool(1, "convert")

    def on_progress(self, listener: ConversionListener) -> None:
        """Called at each step and at the end; must be quick."""
        self._listeners.append(listener)

    def possible(self, model_id: ModelId) -> tuple[Possibility, ...]:
        """Every goal, and why this model cannot be converted to it."""
        facts, _ = require_inspected(self._records.models.get(model_id))
        return catalog.possibilities(facts.format)

    def start(self, model_id: ModelId, to: Goal) -> Conversion:
        """A conversion that is under way is not started again.

        Raises NotFound, UnsafeFormat, WrongState for what may not run, BadValue and PackageMissing
        for what cannot be converted so, and TooBusy.
        """
        model = self._models.require_runnable(model_id)
        facts, _ = require_inspected(model)
        catalog.find_route(facts.format, to)
        require_whole_model(model)
        with self._lock:
            active = [each for each in self._conversions.values() if each.state == "converting"]
            for each in active:
                if (each.model_id, each.to) == (model_id, to) and each.id not in self._stopped:
                    return each
            if len(active) >= MOST_WAITING:
                raise TooBusy(
                    f"{MOST_WAITING} conversions wait already",
                    why="one is made at a time",
                    fix="Wait until some are done",
                )
            number = ConversionId(next(self._numbers))
            conversion = Conversion(
                id=number, project_id=model.project_id, model_id=model_id, to=to
            )
            self._remember(conversion)
        self._pool.submit(self._run, conversion)
        return conversion

    def get(self, number: ConversionId) -> Conversion:
        with self._lock:
            conversion = self._conversions.get(number)
        if conversion is None:
            raise NotFound(
                f"There is no conversion {number}",
                why=f"the last {MOST_REMEMBERED} of this server are remembered",
            )
        return conversion

    def of(self, model_id: ModelId) -> tuple[Conversion, ...]:
        """Newest last."""
        with self._lock:
            return tuple(each for each in self._conversions.values() if each.model_id == model_id)

    def cancel(self, number: ConversionId) -> Conversion:
        """It ends within two seconds, and nothing is kept. A finished one is not changed."""
        conversion = self.get(number)
        run_id = None
        with self._lock:
            is_waiting = number not in self._runs
            now = self._conversions.get(number, conversion)
            if now.state != "converting":
                return now
            if is_waiting:  # its turn may be minutes away
                now = replace(now, state="cancelled", doing="")
                self._remember(now)
            else:
                self._stopped.add(number)
                run_id = self._runs[number]
        if is_waiting:
            self._notify(now)
        elif run_id is not None:
            self._jobs.cancel(run_id)
        return now

    def close(self) -> bool:
        """Stop what is under way. False: it is still at work."""
        with self._lock:
            self._stopped.update(self._conversions)
            runs = [run_id for run_id in self._runs.values() if run_id is not None]
        for run_id in runs:
            self._jobs.cancel(run_id)
        return self._pool.close()

    # ------------------------------------------------------------ inside

    def _run(self, conversion: Conversion) -> None:
        with self._lock:
            latest = self._conversions.get(conversion.id)
            if latest is None or latest.state != "converting":  # cancelled while it waited
                return
            self._runs[conversion.id] = None
        try:
            self._convert(conversion.id, conversion)
        finally:
            with self._lock:
                del self._runs[conversion.id]
                self._stopped.discard(conversion.id)

    def _convert(self, number: ConversionId, conversion: Conversion) -> None:
        try:
            with temporary_folder() as folder:
                model, result = self._run_and_add_model(conversion, folder)
        except Cancelled:
            self._update(number, state="cancelled", doing="")
        except ModeldynoError as error:
            logger.warning("conversion %s: %s", number, error)
            self._update(number, state="failed", doing="", failure=Failure.of(error))
        except Exception as error:
            logger.exception("conversion %s", number)
            self._update(number, state="failed", doing="", failure=unexpected_failure(error))
        else:
            self._update(
                number,
                state="done",
                doing="",
                steps_done=self.get(number).steps_planned,
                made_id=model.id,
                checks=result.checks,
                notes=tuple(without_folders(note) for note in result.notes),
            )

    def _run_and_add_model(
        self, conversion: Conversion, folder: Path
    ) -> tuple[Model, ConversionResult]:
        number, goal = conversion.id, conversion.to
        source = self._models.require_runnable(
            conversion.model_id
        )  # may have been distrusted meanwhile
        name = Path(source.name).stem + SUFFIXES[goal]
        results = folder / "made"
        results.mkdir()
        spec = ConversionSpec(
            pinned_spec(source),
            goal,
            str(results / f"model{SUFFIXES[goal]}"),
            timeout_s=LIMIT_S,
            memory_limit_bytes=default_memory_limit(),
        )
        run_id, ending = new_run_id(), Ending()

        def record(_: RunId, message: JobMessage) -> None:
            note_ending(message, ending)
            if isinstance(message, Progress):
                self._update(
                    number,
                    doing=message.doing,
                    steps_done=message.units_done,
                    steps_planned=message.units_planned,
                )

        with self._lock:
            self._runs[number] = run_id
            is_stopped = number in self._stopped
        if is_stopped:
            raise Cancelled("Stopped before it started")
        self._jobs.submit(run_id, spec, record)
        with self._lock:
            is_stopped = number in self._stopped
        if is_stopped:  # cancelled before the job existed
            self._jobs.cancel(run_id)
        self._jobs.wait(run_id)
        result: ConversionResult = ending.result_or_raise()
        return self._files.add_converted(
            conversion.project_id, spec.output, name, source.name
        ), result

    def _update(self, number: ConversionId, **changes: Any) -> None:
        conversion = replace(self.get(number), **changes)
        with self._lock:
            self._remember(conversion)
        self._notify(conversion)

    def _notify(self, conversion: Conversion) -> None:
        for listener in self._listeners:
            listener(conversion)

    def _remember(self, conversion: Conversion) -> None:
        self._conversions[conversion.id] = conversion
        ended = [key for key, each in self._conversions.items() if each.state != "converting"]
        for number in ended[: max(0, len(self._conversions) - MOST_REMEMBERED)]:
            del self._conversions[number]
