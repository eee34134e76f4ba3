"""``benchmark`` with an input model (1.9 of the contract), and its three events."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from modeldyno.api.inc.announcing import StateChange
from modeldyno.api.inc.broadcast import Status, failure_data
from modeldyno.api.inc.operations import PROCESSING
from modeldyno.api.inc.parameters import MISSING, Parameters
from modeldyno.core.benchmarks import best_cell
from modeldyno.core.dictionaries import framework_of
from modeldyno.core.errors import BadValue, NotFound, NotYet
from modeldyno.core.ids import RunId
from modeldyno.core.requests.commands import config_command
from modeldyno.core.runs import ACTIVE, RunOf
from modeldyno.services.workloads import Mode, Side, Workload, WorkloadModel, WorkloadModelRequest

if TYPE_CHECKING:
    from modeldyno.api.inc.announcing import Announcer
    from modeldyno.api.inc.broadcast import Broadcast
    from modeldyno.services.benchmarks import BenchmarkService
    from modeldyno.services.workloads import WorkloadService
    from modeldyno.store.records.models import ModelRecords

SIDES: tuple[Side, ...] = ("input_model", "optimized_model")
# By the names of requests, the names of answers.
MODES: dict[str, Mode] = {
    "benchmark": "performance",
    "performance": "performance",
    "accuracy": "accuracy",
}
NO_ACCURACY = "Accuracy is not measured yet: it comes with datasets in a later version"
NOTHING_MEASURED = failure_data(f"Nothing measured. {NO_ACCURACY}", NotYet.code)
NUMBERS = ("instances", "cores_per_instance", "batch_size")  # checked, though we choose them


@dataclass
class _Progress:
    """How far a workload is, and what has been reported of it."""

    workload: Workload
    done: set[RunId] = field(default_factory=set)
    reported: int = 0  # measurements
    details: dict[str, dict[str, Any]] = field(default_factory=dict)
    figures: dict[str, Any] = field(default_factory=dict)
    is_over: bool = False

    def next(self) -> tuple[WorkloadModel, Mode] | None:
        """The next measurement to report, in order; None while it is not done."""
        if self.reported == len(self.workload.measurements):
            return None
        part, mode = self.workload.measurements[self.reported]
        return (part, mode) if mode == "accuracy" or part.run_id in self.done else None

    @property
    def fraction(self) -> str:
        return f"{self.reported}/{len(self.workload.measurements)}"


class WorkloadCalls:
    """``begin`` may be called from any thread; all else runs in the announcer's."""

    def __init__(
        self,
        workloads: WorkloadService,
        benchmarks: BenchmarkService,
        models: ModelRecords,
        announcer: Announcer,
        broadcast: Broadcast,
    ) -> None:
        self._service = workloads
        self._benchmarks = benchmarks
        self._models = models
        self._announcer = announcer
        self._broadcast = broadcast
        self._progress: dict[RunId, _Progress] = {}
        for workload in self._service.load_unfinished():
            self._resume(workload)
        announcer.add_claim(self.on_change)

    def begin(self, parameters: Parameters) -> dict[str, Any]:
        """Refuses what cannot be read; then there are no events."""
        models = [
            _read_model_request(parameters, side)
            for side in SIDES
            if side == "input_model" or parameters.value(side) not in (None, "", {})
        ]
        folder = parameters.text("workspace_path", "")
        workload = self._service.begin(_request_id(parameters), models, folder, self._track)
        if not workload.run_ids:  # nothing to wait for
            self._report_progress(_Progress(workload))
        return PROCESSING

    def on_change(self, change: StateChange) -> bool:
        """Whether the run is part of a workload."""
        progress = self._progress.get(change.run_id)
        if progress is None:
            return False
        if change.state == "running":
            self._report_start(progress)
        elif change.state not in ACTIVE and not progress.is_over:
            if change.state == "done":
                progress.done.add(change.run_id)
                self._report_progress(progress)
            else:
                self._fail(progress, self._announcer.why(change))
        if change.state not in ACTIVE:
            self._progress.pop(change.run_id, None)
        return True

    # ------------------------------------------------------------ events

    def _track(self, workload: Workload, progress: _Progress | None = None) -> None:
        progress = progress or _Progress(workload)
        for run_id in workload.run_ids:
            self._progress[run_id] = progress

    def _resume(self, workload: Workload) -> None:
        """A workload of an earlier server, which has reported what was done; what ended otherwise,
        or came last, is still to be reported."""
        progress = _Progress(workload)
        self._track(workload, progress)
        states = self._service.states(workload)
        ended = {run_id: state for run_id, state in states.items() if state not in ACTIVE}
        failures = [run_id for run_id, state in ended.items() if state != "done"]
        unreported = failures[:1] or ([*ended][-1:] if len(ended) == len(states) else [])
        progress.done |= {
            RunId(run_id)
            for run_id, state in ended.items()
            if state == "done" and run_id not in unreported
        }
        while (measurement := progress.next()) is not None:
            self._add_measurement(progress, *measurement)
        for part in workload.parts:
            if part.run_id in unreported and part.run_id is not None:
                of = RunOf("benchmark", part.benchmark_id or 0)
                state = states[part.run_id]
                self._announcer.defer(StateChange(part.run_id, of, workload.project_id, state))

    def _report_start(self, progress: _Progress) -> None:
        if not progress.workload.is_started:
            progress.workload = replace(progress.workload, is_started=True)
            self._service.save(progress.workload)
            self._emit("benchmark_start", progress, {"message": "started"})

    def _report_progress(self, progress: _Progress) -> None:
        """Each measurement that is done, and the end after the last."""
        self._report_start(progress)
        try:
            while (measurement := progress.next()) is not None:
                self._add_measurement(progress, *measurement)
                self._emit("benchmark_progress", progress, self._finished_shape(progress))
        except NotFound:  # deleted a moment after it was done
            self._fail(progress, self._announcer.why(_deletion_change(progress)))
            return
        if progress.reported == len(progress.workload.measurements):
            is_good = bool(progress.workload.run_ids)
            self._finish(progress, {} if is_good else NOTHING_MEASURED, is_good=is_good)

    def _fail(self, progress: _Progress, why: dict[str, Any]) -> None:
        self._service.stop(
            progress.workload
        )  # first: if the database is unreachable, the finish is retried
        self._finish(progress, why, is_good=False)

    def _finish(self, progress: _Progress, why: dict[str, Any], *, is_good: bool) -> None:
        note = {"note": progress.workload.note} if progress.workload.note else {}
        data = self._finished_shape(progress) | why | note
        self._emit("benchmark_finish", progress, data, is_good=is_good)
        progress.is_over = True
        self._service.forget(progress.workload)

    def _add_measurement(self, progress: _Progress, part: WorkloadModel, mode: Mode) -> None:
        """Raises NotFound, and counts nothing, if it has been deleted."""
        side = part.wanted.side
        if mode == "accuracy":
            progress.figures |= {f"acc_{side}": None, "message": NO_ACCURACY}
        else:
            performance, throughput = self._read_performance(progress, part)
            progress.details[f"{side}_benchmark"] = {"performance": performance}
            progress.figures[f"perf_throughput_{side}"] = throughput
            self._service.write_log(progress.workload, part)
        progress.reported += 1

    def _read_performance(
        self, progress: _Progress, part: WorkloadModel
    ) -> tuple[dict[str, Any], float | None]:
        assert part.benchmark_id is not None
        best = best_cell(self._benchmarks.outcome(part.benchmark_id).cells)
        axes = best.axes if best else {}
        model = self._models.get(part.model_id)
        config = self._service.config_path(progress.workload, part)
        performance = {
            "instances": axes.get("instances"),
            "cores_per_instance": axes.get("cores"),
            "model_path": part.wanted.path,
            "precision": part.wanted.precision or model.precision or "fp32",
            "mode": "performance",
            "batch_size": axes.get("batch_size"),
            "framework": framework_of(model.format, model.framework).name.lower(),
            "config_path": config,
            "benchmark_script": shutil.which("modeldyno") or "modeldyno",
            "command": config_command(config),
        }
        throughput = best.throughput_per_s if best else None
        return performance, None if throughput is None else round(throughput, 3)

    def _finished_shape(self, progress: _Progress) -> dict[str, Any]:
        return {
            "execution_details": progress.details,
            "progress": progress.fraction,
            **progress.figures,
        }

    def _emit(
        self, event: str, progress: _Progress, data: dict[str, Any], *, is_good: bool = True
    ) -> None:
        status: Status = "success" if is_good else "error"
        self._broadcast.emit(event, status, {"id": progress.workload.id, **data})


def _deletion_change(progress: _Progress) -> StateChange:
    run_id = next(iter(progress.workload.run_ids))
    return StateChange(run_id, RunOf("benchmark", 0), progress.workload.project_id, "cancelled")


def _request_id(parameters: Parameters) -> str | int:
    value = parameters.raw.get("id")
    if isinstance(value, list) and not isinstance(parameters.raw["input_model"], list):
        raise BadValue("id is not a text", why="it is a text or a whole number, not a list")
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    return parameters.text("id", "")


def _read_model_request(parameters: Parameters, side: Side) -> WorkloadModelRequest:
    value = parameters.value(side)
    model = Parameters({"path": value}) if isinstance(value, str) else parameters.nested(side)
    for level in (parameters, model):
        for name in NUMBERS:
            level.integer(name, 1, least=1)
    path = model.text("path", "")
    if not path:
        raise BadValue(MISSING, why=f"{side} has no path")
    modes = []
    for word in model.texts("mods") or parameters.texts("mods") or ("benchmark",):
        if word not in MODES:
            raise BadValue("Could not parse value", why=f"mods are {', '.join(MODES)}")
        modes.append(MODES[word])
    return WorkloadModelRequest(
        side=side,
        path=path,
        precision=model.text("precision", ""),
        modes=tuple(dict.fromkeys(modes)),
    )
