"""Before anything is timed: read the model, copy it, and let the engine run it once."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from pathlib import Path

from modeldyno.core.errors import BadValue
from modeldyno.core.models import ModelFacts, TensorSpec
from modeldyno.core.requests.axes import sizes_of
from modeldyno.core.sessions import Parity, SessionFacts, Target
from modeldyno.core.specs import CellSpec, ModelSpec
from modeldyno.core.trust import warning
from modeldyno.engines import catalog
from modeldyno.engines.catalog import EngineEntry
from modeldyno.inputs.matching import Party, plan_alike
from modeldyno.inputs.model_overrides import check_complete
from modeldyno.inputs.plans import InputPlan, plan_inputs
from modeldyno.jobs.protocol import Context
from modeldyno.jobs.scratch_files import copy_out
from modeldyno.jobs.trial_workers import TrialWorkers
from modeldyno.worker.messages import Examine, Examined, LowerOpset, OpsetLowered


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
    parity: Parity | None = None  # to the outputs of the cell it is held against …
    against: str | None = None  # … which are kept here
    outputs: tuple[TensorSpec, ...] = ()  # as they came out
    python: str = sys.executable  # where its engine lives
    life: str = ""  # what its process is for good; others need another process
    copy: Path | None = None  # the private copy; the target may be one made of it

    @property
    def items(self) -> int:
        """Of one call."""
        return self.facts.items(self.batch_size)


def prepare(
    trying: TrialWorkers,
    model: ModelSpec,
    facts: ModelFacts,
    copy: Path,
    cell: CellSpec,
    name: str,
    seed: int,
    context: Context,
    deadline_s: float,
    against: Prepared | None = None,
    party: Party | None = None,
    beside: InputPlan | None = None,
) -> Prepared:
    """Let the engine run the cell once; raises when it cannot.

    Its outputs are compared with those of ``against``, a cell of the same benchmark. In a
    comparison, ``party`` says how its inputs correspond to those of the other side, and
    ``beside`` what that one was given, if it came first.
    """
    entry = engine_of(cell, facts)
    python = entry.environment.python if entry.environment else sys.executable
    file, lowered = _readable(entry, facts, copy, name, trying, context, deadline_s)
    target = target_of(entry, cell, facts, file)
    check_complete(facts)
    if party is not None:
        ladder = plan_alike(party, cell.batch_size, beside, seed)
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
    command = Examine(
        target, ladder, cell.contract, reference, against.reference if against else None
    )
    life = catalog.process_settings(entry, target)
    examined = trying.worker(python, life).request(command, Examined, deadline_s, context.stop)
    inputs = ladder[examined.rung]
    return Prepared(
        cell=cell,
        target=replace(target, shapes=shapes_of(inputs)),
        inputs=inputs,
        batch_size=examined.batch_size,
        facts=examined.facts,
        reference=reference,
        notes=tuple(
            dict.fromkeys(
                note
                for note in (warning(facts), lowered, *examined.facts.notes, *examined.notes)
                if note
            )
        ),
        parity=examined.parity,
        against=command.against,
        outputs=examined.outputs,
        python=python,
        life=life,
        copy=copy,
    )


def shapes_of(inputs: InputPlan) -> dict[str, tuple[int, ...]]:
    """Known before they are made, unless a file of the user's decides on some of them."""
    if inputs.data is not None and any(t.yields or t.yields is None for t in inputs.tensors):
        return {}
    return {tensor.name: tensor.shape for tensor in inputs.tensors}


def engine_of(cell: CellSpec, facts: ModelFacts) -> EngineEntry:
    """Raises where it is not here, or does not read such models."""
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


def _readable(
    entry: EngineEntry,
    facts: ModelFacts,
    copy: Path,
    name: str,
    trying: TrialWorkers,
    context: Context,
    deadline_s: float,
) -> tuple[Path, str]:
    """The model in a version that the engine reads, and what was done for that."""
    opset, ir = facts.opsets.get("", 0), facts.ir_version or 0
    newest_opset, newest_ir = entry.newest_opset or opset, entry.newest_ir or ir
    if facts.format != "onnx" or (opset <= newest_opset and ir <= newest_ir):
        return copy, ""
    made = context.folder.scratch / f"lowered-{name}.onnx"
    command = LowerOpset(str(copy), str(made), newest_opset, newest_ir)
    trying.ours.request(command, OpsetLowered, deadline_s, context.stop)
    kept = context.folder.model / f"lowered-{name}" / copy.name
    kept.parent.mkdir(exist_ok=True)
    copy_out(context.folder.scratch, (made.name,), kept)
    made.unlink()
    lowest = f"opset {min(opset, newest_opset)}, IR {min(ir, newest_ir)}"
    return kept, (
        f"{entry.title or entry.name} got a copy converted from opset {opset}, IR {ir} to {lowest}"
    )


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
