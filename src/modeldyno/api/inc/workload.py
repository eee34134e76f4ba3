"""``benchmark`` with an input model: the call of 1.9, and its three events in their own shape."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from modeldyno.api.inc.announcing import FAILED, Move
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
# As the document calls what is to be found out, and as its answers call it.
MODES: dict[str, Mode] = {
    "benchmark": "performance",
    "performance": "performance",
    "accuracy": "accuracy",
}
NO_ACCURACY = "Accuracy is not measured yet: it comes with datasets in a later version"
NOTHING_MEASURED = {
    "message": f"Nothing was measured. {NO_ACCURACY}",
    "code": FAILED,
    "error_code": NotYet.code,
}
NUMBERS = ("instances", "cores_per_instance", "batch_size")  # we choose them; still no nonsense


@dataclass
class _Call:
    """How far it is."""

    workload: Workload
    done: set[RunId] = field(default_factory=set)
    told: int = 0  # measurements
    details: dict[str, dict[str, Any]] = field(default_factory=dict)
    figures: dict[str, Any] = field(default_factory=dict)
    is_over: bool = False

    def next(self) -> tuple[WorkloadModel, Mode] | None:
        """The one to be told now, in their order; None while it has not been measured."""
        if self.told == len(self.workload.measurements):
            return None
        part, mode = self.workload.measurements[self.told]
        return (part, mode) if mode == "accuracy" or part.run_id in self.done else None

    @property
    def progress(self) -> str:
        return f"{self.told}/{len(self.workload.measurements)}"


class Calls:
    """Everything but ``begin`` happens in the announcer's thread."""

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
        self._calls: dict[RunId, _Call] = {}
        for workload in self._service.unfinished():
            self._go_on(workload)
        announcer.instead(self.hear)

    def begin(self, asked: Parameters) -> dict[str, Any]:
        """What cannot be read is refused here, and then nothing is told."""
        models = [
            _wanted(asked, side)
            for side in SIDES
            if side == "input_model" or asked.value(side) not in (None, "", {})
        ]
        folder = asked.text("workspace_path", "")
        made = self._service.begin(_id(asked), models, folder, self._remember)
        if not made.run_ids:  # nothing to wait for
            self._tell(_Call(made))
        return PROCESSING

    def hear(self, move: Move) -> bool:
        """Whether the run is of one of these calls."""
        call = self._calls.get(move.run_id)
        if call is None:
            return False
        if move.state == "running":
            self._say_started(call)
        elif move.state not in ACTIVE and not call.is_over:
            if move.state == "done":
                call.done.add(move.run_id)
                self._tell(call)
            else:
                self._fail(call, self._announcer.why(move))
        if move.state not in ACTIVE:
            self._calls.pop(move.run_id, None)
        return True

    # ------------------------------------------------------------ inside

    def _remember(self, workload: Workload, call: _Call | None = None) -> None:
        call = call or _Call(workload)
        for run_id in workload.run_ids:
            self._calls[run_id] = call

    def _go_on(self, workload: Workload) -> None:
        """Of an earlier server. What was done then was told then; what ended otherwise, or was the
        last, is still to be told."""
        call = _Call(workload)
        self._remember(workload, call)
        states = self._service.states(workload)
        ended = {run_id: state for run_id, state in states.items() if state not in ACTIVE}
        failed = [run_id for run_id, state in ended.items() if state != "done"]
        owed = failed[:1] or ([*ended][-1:] if len(ended) == len(states) else [])
        call.done |= {
            RunId(run_id)
            for run_id, state in ended.items()
            if state == "done" and run_id not in owed
        }
        while (found := call.next()) is not None:
            self._count(call, *found)
        for part in workload.parts:
            if part.run_id in owed and part.run_id is not None:
                of = RunOf("benchmark", part.benchmark_id or 0)
                state = states[part.run_id]
                self._announcer.owe(Move(part.run_id, of, workload.project_id, state))

    def _say_started(self, call: _Call) -> None:
        if not call.workload.is_started:
            call.workload = replace(call.workload, is_started=True)
            self._service.keep(call.workload)
            self._say("benchmark_start", call, {"message": "started"})

    def _tell(self, call: _Call) -> None:
        """Each measurement that is there, and the end after the last."""
        self._say_started(call)
        try:
            while (found := call.next()) is not None:
                self._count(call, *found)
                self._say("benchmark_progress", call, self._so_far(call))
        except NotFound:  # deleted a moment after it was done
            self._fail(call, self._announcer.why(_gone(call)))
            return
        if call.told == len(call.workload.measurements):
            is_good = bool(call.workload.run_ids)
            self._finish(call, {} if is_good else NOTHING_MEASURED, is_good=is_good)

    def _fail(self, call: _Call, why: dict[str, Any]) -> None:
        self._service.stop(call.workload)  # first: a database that is away costs no finish
        self._finish(call, why, is_good=False)

    def _finish(self, call: _Call, why: dict[str, Any], *, is_good: bool) -> None:
        note = {"note": call.workload.note} if call.workload.note else {}
        told = self._so_far(call) | why | note
        self._say("benchmark_finish", call, told, is_good=is_good)
        call.is_over = True
        self._service.forget(call.workload)

    def _count(self, call: _Call, part: WorkloadModel, mode: Mode) -> None:
        """Raises NotFound when it is gone by now; then nothing was counted."""
        side = part.wanted.side
        if mode == "accuracy":
            call.figures |= {f"acc_{side}": None, "message": NO_ACCURACY}
        else:
            told, throughput = self._measured(call, part)
            call.details[f"{side}_benchmark"] = {"performance": told}
            call.figures[f"perf_throughput_{side}"] = throughput
            self._service.write_log(call.workload, part)
        call.told += 1

    def _measured(self, call: _Call, part: WorkloadModel) -> tuple[dict[str, Any], float | None]:
        assert part.benchmark_id is not None
        best = best_cell(self._benchmarks.outcome(part.benchmark_id).cells)
        axes = best.axes if best else {}
        model = self._models.get(part.model_id)
        config = self._service.config_path(call.workload, part)
        told = {
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
        return told, None if throughput is None else round(throughput, 3)

    def _so_far(self, call: _Call) -> dict[str, Any]:
        return {"execution_details": call.details, "progress": call.progress, **call.figures}

    def _say(self, event: str, call: _Call, data: dict[str, Any], *, is_good: bool = True) -> None:
        told = {"id": call.workload.id, **data}
        self._broadcast.say(event, "success" if is_good else "error", told)


def _gone(call: _Call) -> Move:
    run_id = next(iter(call.workload.run_ids))
    return Move(run_id, RunOf("benchmark", 0), call.workload.project_id, "cancelled")


def _id(asked: Parameters) -> str | int:
    found = asked.said.get("id")
    if isinstance(found, list) and not isinstance(asked.said["input_model"], list):
        raise BadValue("id is no text", why="it is a text or a whole number, not a list")
    if isinstance(found, int) and not isinstance(found, bool):
        return found
    return asked.text("id", "")


def _wanted(asked: Parameters, side: Side) -> WorkloadModelRequest:
    said = asked.value(side)
    model = Parameters({"path": said}) if isinstance(said, str) else asked.inside(side)
    for said_of in (asked, model):
        for name in NUMBERS:
            said_of.whole(name, 1, least=1)
    path = model.text("path", "")
    if not path:
        raise BadValue(MISSING, why=f"{side} has no path")
    modes = []
    for word in model.texts("mods") or asked.texts("mods") or ("benchmark",):
        if word not in MODES:
            raise BadValue("Could not parse value", why=f"mods are {', '.join(MODES)}")
        modes.append(MODES[word])
    return WorkloadModelRequest(
        side=side,
        path=path,
        precision=model.text("precision", ""),
        modes=tuple(dict.fromkeys(modes)),
    )
