"""Before anything is timed: read the model, copy it, and let the engine run it once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from modeldyno.core.errors import BadValue
from modeldyno.core.inputs import InputPlan, plan_inputs
from modeldyno.core.likeness import Party, plan_alike
from modeldyno.core.models import ModelFacts, TensorSpec
from modeldyno.core.sessions import Parity, SessionFacts, Target
from modeldyno.core.specs import CellSpec, ModelSpec
from modeldyno.core.stated import check_complete
from modeldyno.core.trust import warning
from modeldyno.engines import catalog
from modeldyno.jobs.protocol import Context
from modeldyno.worker.launch import Worker
from modeldyno.worker.messages import Examine, Examined


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

    @property
    def items(self) -> int:
        """Of one call, in all its streams."""
        return self.batch_size * self.facts.streams


def prepare(
    worker: Worker,
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
    target = target_of(cell, facts, copy)
    check_complete(facts)
    if party is not None:
        ladder = plan_alike(party, cell.batch_size, beside, seed)
    else:
        ladder = plan_inputs(
            facts.inputs,
            cell.batch_size,
            dims=model.dims,
            values=model.values,
            data=model.data,
            seed=seed,
        )
    reference = str(context.folder.scratch / f"reference-{name}.npz")
    command = Examine(
        target, ladder, cell.contract, reference, against.reference if against else None
    )
    examined = worker.ask(command, Examined, deadline_s, context.stop)
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
                note for note in (warning(facts), *examined.facts.notes, *examined.notes) if note
            )
        ),
        parity=examined.parity,
        against=command.against,
        outputs=examined.outputs,
    )


def shapes_of(inputs: InputPlan) -> dict[str, tuple[int, ...]]:
    """Known before they are made, unless a file of the user's decides on some of them."""
    if inputs.data is not None and any(t.yields or t.yields is None for t in inputs.tensors):
        return {}
    return {tensor.name: tensor.shape for tensor in inputs.tensors}


def target_of(cell: CellSpec, facts: ModelFacts, copy: Path) -> Target:
    entry = catalog.usable(cell.engine) if cell.engine else catalog.for_format(facts.format)
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
    return Target(
        engine=entry.name,
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
    )
