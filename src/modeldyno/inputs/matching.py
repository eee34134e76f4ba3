"""Two models that are compared: which input of one is which of the other.

Formats name inputs differently, and some do not say what they take. Both sides must get the same
values nevertheless, or their outputs cannot be compared.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from modeldyno.core.models import InputSpec, ModelFacts
from modeldyno.core.specs import ModelSpec
from modeldyno.inputs.model_overrides import UNSTATED
from modeldyno.inputs.name_hints import says_state
from modeldyno.inputs.open_axes import Place, check_dims, chosen_size, open_axes
from modeldyno.inputs.plans import GUESSED, InputPlan, TensorPlan, check_values, plan_inputs

Names = Mapping[str, str]
Number = TypeVar("Number", int, float)


@dataclass(frozen=True)
class Party:
    """One of two models, with what was said about it and what the other one tells about it."""

    model: ModelSpec
    facts: ModelFacts
    twins: Names  # its inputs → those of the other one
    notes: tuple[str, ...] = ()


def parties(
    a: ModelSpec, facts_a: ModelFacts, b: ModelSpec, facts_b: ModelFacts
) -> tuple[Party, Party]:
    """Raises BadValue for dims and values that neither model has."""
    lent_a, lent_b = lent(facts_a, facts_b), lent(facts_b, facts_a)
    lent_a, lent_b = _with_indices(lent_a, lent_b), _with_indices(lent_b, lent_a)
    inputs = (*lent_a.inputs, *lent_b.inputs)
    check_dims(a.dims, (*open_axes(lent_a.inputs), *open_axes(lent_b.inputs)), inputs)
    check_values(a.values, inputs)
    return _party(a, lent_a, lent_b), _party(b, lent_b, lent_a)


def tells_more(one: Party, other: Party) -> bool:
    """Whether ``one`` fixes more of its shapes: the other then follows it."""
    return _open_places(one) < _open_places(other)


def lent(facts: ModelFacts, other: ModelFacts) -> ModelFacts:
    """What a file leaves out of its inputs, as the model beside it declares them."""
    declared = [spec for spec in other.inputs if spec.dtype != UNSTATED]
    if not facts.inputs and facts.format == "torch-checkpoint":
        return replace(facts, inputs=tuple(declared))
    by_name = {spec.name: spec for spec in declared}
    ours = {spec.name for spec in facts.inputs}
    spare = iter([spec for spec in declared if spec.name not in ours])
    inputs = []
    for spec in facts.inputs:
        source = None
        if spec.dtype == UNSTATED:
            source = by_name.get(spec.name) or next(spare, None)
        inputs.append(replace(source, name=spec.name) if source else spec)
    return replace(facts, inputs=tuple(inputs))


def plan_alike(
    party: Party, batch_size: int, beside: InputPlan | None, seed: int
) -> tuple[InputPlan, ...]:
    """As ``plan_inputs``, with the values that the other side got, and its shapes tried first.

    Without ``beside`` this side is the first, and the other one will follow it.
    """
    said = party.model
    own = plan_inputs(
        party.facts.inputs,
        batch_size,
        dims=said.dims,
        values=said.values,
        data=said.data,
        seed=seed,
    )
    own = tuple(_aliased(plan, party.twins) for plan in own)
    if beside is None:
        return own
    theirs = {tensor.name: tensor for tensor in beside.tensors}
    twins = {name: theirs[twin] for name, twin in party.twins.items() if twin in theirs}
    ladder = [_valued(plan, twins) for plan in own]
    if said.data is None and own[0].batch_size == beside.batch_size:
        ladder.insert(0, _shaped(ladder[0], party, twins))
    return tuple(dict.fromkeys(ladder))


# ---------------------------------------------------------------- who is who


def _party(said: ModelSpec, facts: ModelFacts, other: ModelFacts) -> Party:
    twins = _twins(facts.inputs, other.inputs)
    alone = {
        spec.name
        for spec in facts.inputs
        if spec.name not in twins and spec.dtype.startswith("float") and says_state(spec.name)
    }
    zeroed = {name for name in alone - said.values.keys() if said.data is None}
    model = replace(
        said,
        dims=_without(said.dims, _dim_names(facts.inputs), _dim_names(other.inputs)),
        values=_without(said.values, _names(facts.inputs), _names(other.inputs))
        | dict.fromkeys(sorted(zeroed), 0),
    )
    notes = [
        f"{name} of one model was taken for {twin} of the other: they get the same values"
        for name, twin in twins.items()
        if name < twin and said.data is None  # once for both sides; a file says who gets what
    ]
    notes += [
        f"only one model takes {name}: it is 0, where recurrent networks start; "
        f"to choose: --value {name}=… or --data"
        for name in sorted(zeroed)
    ]
    return Party(model, facts, twins, tuple(notes))


def _twins(inputs: tuple[InputSpec, ...], others: tuple[InputSpec, ...]) -> dict[str, str]:
    """By name; the rest in their order, where type and shape allow it."""
    there = _names(others)
    twins = {spec.name: spec.name for spec in inputs if spec.name in there}
    rest = [spec for spec in others if spec.name not in twins]
    for spec in inputs:
        if spec.name in twins:
            continue
        twin = next((one for one in rest if _may_be_same(spec, one)), None)
        if twin is not None:
            twins[spec.name] = twin.name
            rest.remove(twin)
    return twins


def _may_be_same(a: InputSpec, b: InputSpec) -> bool:
    if a.dtype != b.dtype:
        return False
    if a.shape is None or b.shape is None:
        return True
    return len(a.shape) == len(b.shape) and all(
        x == y or not (isinstance(x, int) and isinstance(y, int))
        for x, y in zip(a.shape, b.shape, strict=True)
    )


def _with_indices(facts: ModelFacts, other: ModelFacts) -> ModelFacts:
    """Which numbers a table takes: one file may show it where the other does not."""
    twins = _twins(facts.inputs, other.inputs)
    known = {spec.name: spec.indices for spec in other.inputs}
    inputs = (
        replace(s, indices=s.indices or known.get(twins.get(s.name, ""))) for s in facts.inputs
    )
    return replace(facts, inputs=tuple(inputs))


def _names(inputs: tuple[InputSpec, ...]) -> set[str]:
    return {spec.name for spec in inputs}


def _dim_names(inputs: tuple[InputSpec, ...]) -> set[str]:
    return {name for axis in open_axes(inputs) for name in (axis.name, *axis.labels)}


def _without(said: dict[str, Number], ours: set[str], theirs: set[str]) -> dict[str, Number]:
    """What was said, less what only the other model can mean."""
    return {name: value for name, value in said.items() if name in ours or name not in theirs}


def _open_places(party: Party) -> int:
    axes = open_axes(party.facts.inputs)
    return sum(len(axis.places) for axis in axes if chosen_size(axis, party.model.dims) is None)


# ---------------------------------------------------------------- the same bytes


def _aliased(plan: InputPlan, twins: Names) -> InputPlan:
    tensors = (replace(tensor, alias=twins.get(tensor.name, "")) for tensor in plan.tensors)
    return replace(plan, tensors=tuple(tensors))


def _valued(plan: InputPlan, twins: Mapping[str, TensorPlan]) -> InputPlan:
    tensors = (_with_values(tensor, twins.get(tensor.name)) for tensor in plan.tensors)
    return replace(plan, tensors=tuple(tensors))


def _with_values(tensor: TensorPlan, twin: TensorPlan | None) -> TensorPlan:
    if twin is None or tensor.is_said:
        return tensor
    return replace(
        tensor,
        fill=twin.fill,
        low=twin.low,
        high=twin.high,
        value=twin.value,
        is_said=twin.is_said,
        twin=(twin.name, twin.dtype),
    )


def _shaped(plan: InputPlan, party: Party, twins: Mapping[str, TensorPlan]) -> InputPlan:
    """The plan with the other side's shapes, where the model and the user leave them open."""
    specs = {spec.name: spec for spec in party.facts.inputs}
    said = _said_sizes(party)
    followed = {
        name: twin.shape for name, twin in twins.items() if _takes(specs[name], twin.shape, said)
    }
    tensors = (replace(t, shape=followed.get(t.name, t.shape)) for t in plan.tensors)
    notes = [note for note in plan.notes if not note.startswith(GUESSED)]
    alone = tuple(spec for spec in party.facts.inputs if spec.name not in followed)
    return replace(plan, tensors=tuple(tensors), notes=(*notes, *_guesses(alone, plan, party)))


def _guesses(alone: tuple[InputSpec, ...], plan: InputPlan, party: Party) -> list[str]:
    """Notes on what was guessed for these inputs, which follow nobody."""
    dims, values = party.model.dims, party.model.values
    known = _dim_names(alone)
    (first, *_) = plan_inputs(
        alone,
        plan.batch_size,
        dims={name: size for name, size in dims.items() if name in known},
        values={name: value for name, value in values.items() if name in _names(alone)},
        data=None,
        seed=plan.seed,
    )
    return [note for note in first.notes if note.startswith(GUESSED)]


def _said_sizes(party: Party) -> dict[Place, int]:
    sizes = ((axis, chosen_size(axis, party.model.dims)) for axis in open_axes(party.facts.inputs))
    return {place: size for axis, size in sizes if size is not None for place in axis.places}


def _takes(spec: InputSpec, shape: tuple[int, ...], said: Mapping[Place, int]) -> bool:
    if spec.shape is None or len(spec.shape) != len(shape):
        return spec.shape is None
    wanted = (
        dim if isinstance(dim, int) else said.get((spec.name, position))
        for position, dim in enumerate(spec.shape)
    )
    return all(size is None or size == given for size, given in zip(wanted, shape, strict=True))
