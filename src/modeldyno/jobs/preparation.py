"""Before anything is timed: read the model, copy it, and let the engine run it once."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from modeldyno.core.errors import BadValue
from modeldyno.core.models import ModelFacts, TensorSpec
from modeldyno.core.requests.axes import sizes_of
from modeldyno.core.sessions import Parity, SandboxReport, SessionFacts, Target
from modeldyno.core.specs import (
    BenchmarkSpec,
    CellSpec,
    ComparisonSpec,
    InferenceSpec,
    ModelSpec,
    ProfileSpec,
)
from modeldyno.core.trust import warning
from modeldyno.engines import catalog
from modeldyno.engines.catalog import EngineEntry
from modeldyno.inputs.matching import MatchedModel, plan_matching_inputs
from modeldyno.inputs.model_overrides import require_complete
from modeldyno.inputs.plans import InputPlan, plan_inputs
from modeldyno.jobs.inspection import inspect
from modeldyno.jobs.protocol import Context
from modeldyno.jobs.scratch_files import copy_out
from modeldyno.worker.launch import Worker, launch
from modeldyno.worker.messages import Examine, Examined, LowerOpset, OpsetLowered, SessionSpec

MeasuringSpec = BenchmarkSpec | ComparisonSpec | ProfileSpec | InferenceSpec


@dataclass(frozen=True)
class Prepared:
    """A cell that is known to run: what to load, what to feed, what came out."""

    cell: CellSpec
    target: Target  # without CPUs: each process picks its own
    inputs: InputPlan
    batch_size: int
    facts: SessionFacts
    reference: str
    notes: tuple[str, ...]
    parity: Parity | None = None  # to the outputs of the cell it is compared with …
    against: str | None = None  # … which are kept here
    outputs: tuple[TensorSpec, ...] = ()  # with their actual shapes
    python: str = sys.executable  # where its engine is installed
    process_settings: str = ""  # of its process, for good; a cell with others needs another process
    copy: Path | None = None  # the private copy; the target may be one made of it

    @property
    def items(self) -> int:
        """Of one call."""
        return self.facts.items(self.batch_size)

    def session(self, cpus: tuple[int, ...] = ()) -> SessionSpec:
        return SessionSpec(replace(self.target, cpus=cpus), self.inputs, self.cell.contract)


class TrialWorkers:
    """Workers in which cells run once before anything is timed: ours, and one in each other Python.

    They are started when they are first needed. Only ours reads the user's own files.
    """

    def __init__(self, spec: MeasuringSpec, cells: Sequence[CellSpec], context: Context) -> None:
        self._spec = spec
        self._context = context
        self._setup = context.worker_setup(spec, cells=cells, inspecting=True)
        self._workers: dict[str, Worker] = {}
        self._process_settings: dict[str, str] = {}
        self._latest: Worker | None = None
        self.copy_s = 0.0  # what copying and checking the latest model took

    @property
    def sandbox(self) -> SandboxReport | None:
        """Of the worker that was used last."""
        return self._latest.sandbox if self._latest else None

    @property
    def start_s(self) -> float:
        """What starting that worker took."""
        return self._latest.start_s if self._latest else 0.0

    def worker(self, python: str = sys.executable, process_settings: str = "") -> Worker:
        """``process_settings`` are those that a process cannot change (``catalog``); a worker with
        others is replaced by a fresh one."""
        settings = self._process_settings
        if process_settings and settings.setdefault(python, process_settings) != process_settings:
            self._workers.pop(python).close()
            settings[python] = process_settings
        if python not in self._workers:
            setup = self._setup
            if python != setup.python:
                setup = replace(setup, python=python, inspectable=())
            self._workers[python] = launch(setup)
        self._latest = self._workers[python]
        return self._latest

    def close(self) -> None:
        """Whatever went wrong in them, the next cell gets fresh ones."""
        for worker in self._workers.values():
            worker.close()
        self._workers.clear()
        self._process_settings.clear()

    def inspect(self, model: ModelSpec, inside: str = "") -> tuple[ModelFacts, Path]:
        """The model's facts and its private copy, which lies in the folder ``inside``."""
        facts = inspect(self.worker(), model, self._context, self._spec.timeout_s)
        start = time.monotonic()
        copy = self._context.copy_privately(model, facts, inside)
        self.copy_s = time.monotonic() - start
        return facts, copy

    def prepare(
        self,
        model: ModelSpec,
        facts: ModelFacts,
        copy: Path,
        cell: CellSpec,
        name: str,
        deadline_s: float,
        against: Prepared | None = None,
        party: MatchedModel | None = None,
        other_inputs: InputPlan | None = None,
    ) -> Prepared:
        """Let the engine run the cell once; raises if it cannot.

        Its outputs are compared with those of ``against``, a cell of the same benchmark. In a
        comparison, ``party`` says how its inputs correspond to those of the other side, and
        ``other_inputs`` are what that side was given, if it came first.
        """
        context, seed = self._context, self._spec.seed
        entry = engine_of(cell, facts)
        python = entry.environment.python if entry.environment else sys.executable
        file, lowered = readable_copy(entry, facts, copy, name, self, context, deadline_s)
        target = target_of(entry, cell, facts, file)
        require_complete(facts)
        if party is not None:
            ladder = plan_matching_inputs(party, cell.batch_size, other_inputs, seed)
        else:
            ladder = plan_inputs(
                facts.inputs,
                cell.batch_size,
                dims=model.dims | sizes_of(cell),
                values=model.values,
                data=context.local(model).data,
                seed=seed,
            )
        reference = str(context.folder.scratch / f"reference-{name}.npz")
        kept = against.reference if against else None
        command = Examine(target, ladder, cell.contract, reference, kept)
        settings = catalog.process_settings(entry, target)
        worker = self.worker(python, settings)
        examined = worker.request(command, Examined, deadline_s, context.stop)
        inputs = ladder[examined.rung]
        notes = (warning(facts), lowered, *examined.facts.notes, *examined.notes)
        return Prepared(
            cell=cell,
            target=replace(target, shapes=shapes_of(inputs)),
            inputs=inputs,
            batch_size=examined.batch_size,
            facts=examined.facts,
            reference=reference,
            notes=tuple(dict.fromkeys(filter(None, notes))),
            parity=examined.parity,
            against=kept,
            outputs=examined.outputs,
            python=python,
            process_settings=settings,
            copy=copy,
        )


def shapes_of(inputs: InputPlan) -> dict[str, tuple[int, ...]]:
    """Known before they are made, unless a file of the user's decides on some of them."""
    if inputs.data is not None and any(t.yields or t.yields is None for t in inputs.tensors):
        return {}
    return {tensor.name: tensor.shape for tensor in inputs.tensors}


def engine_of(cell: CellSpec, facts: ModelFacts) -> EngineEntry:
    """Raises if it is not installed, or does not read such models."""
    entry = catalog.require_usable(cell.engine) if cell.engine else catalog.for_format(facts.format)
    if facts.format not in entry.formats:
        raise BadValue(
            f"Engine {entry.name!r} does not read {facts.format} models",
            why=f"it reads {', '.join(entry.formats)}",
            fix=f"Use --engine {catalog.for_format(facts.format).name}",
        )
    if cell.streams > 1 and not entry.has_streams:
        raise BadValue(
            f"Engine {entry.name!r} has no streams",
            why="it runs one request at a time",
            fix="Leave --streams out, or use --instances to run several processes side by side",
        )
    return entry


def readable_copy(
    entry: EngineEntry,
    facts: ModelFacts,
    copy: Path,
    name: str,
    trials: TrialWorkers,
    context: Context,
    deadline_s: float,
) -> tuple[Path, str]:
    """The model in a version that the engine reads, with a note if it was converted."""
    opset, ir = facts.opsets.get("", 0), facts.ir_version or 0
    newest_opset, newest_ir = entry.newest_opset or opset, entry.newest_ir or ir
    if facts.format != "onnx" or (opset <= newest_opset and ir <= newest_ir):
        return copy, ""
    made = context.folder.scratch / f"lowered-{name}.onnx"
    command = LowerOpset(str(copy), str(made), newest_opset, newest_ir)
    trials.worker().request(command, OpsetLowered, deadline_s, context.stop)
    kept = context.folder.model / f"lowered-{name}" / copy.name
    kept.parent.mkdir(exist_ok=True)
    copy_out(context.folder.scratch, (made.name,), kept)
    made.unlink()
    lowered = f"opset {min(opset, newest_opset)}, IR {min(ir, newest_ir)}"
    title = entry.title or entry.name
    return kept, f"{title} got a copy converted from opset {opset}, IR {ir} to {lowered}"


def target_of(entry: EngineEntry, cell: CellSpec, facts: ModelFacts, copy: Path) -> Target:
    return Target(
        engine=entry.adapter,
        model=str(copy),
        device=cell.device,
        threads=cell.cores,
        precision=cell.precision,
        spinning=cell.spinning,
        options=cell.options,
        format=facts.format,
        architecture=facts.architecture,
        inputs=tuple(spec.name for spec in facts.inputs),
        outputs=tuple(spec.name for spec in facts.outputs),
        streams=cell.streams,
        signature=facts.signature if len(facts.signatures) > 1 else "",
        alias=entry.name if entry.environment else "",
    )
