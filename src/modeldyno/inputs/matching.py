"""Matches the inputs of two models that are compared.

Formats name inputs differently, and some do not declare them. Both sides must still get the same
values, or their outputs cannot be compared.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from modeldyno.core.models import InputSpec, ModelFacts
from modeldyno.core.specs import ModelSpec
from modeldyno.inputs.decoders import with_sizes_of_phase
from modeldyno.inputs.model_overrides import UNSTATED
from modeldyno.inputs.name_hints import says_state
from modeldyno.inputs.open_axes import Place, chosen_size, find_open_axes, require_dims
from modeldyno.inputs.plans import GUESSED, InputPlan, TensorPlan, plan_inputs, require_values

Names = Mapping[str, str]
Number = TypeVar("Number", int, float)


@dataclass(frozen=True)
class MatchedModel:
    """One of two models, completed by the user's overrides and by what the other one declares."""

    model: ModelSpec
    facts: ModelFacts
    twins: Names  # its inputs → those of the other one
    notes: tuple[str, ...] = ()


def match_models(
    a: ModelSpec, facts_a: ModelFacts, b: ModelSpec, facts_b: ModelFacts
) -> tuple[MatchedModel, MatchedModel]:
    """Raises BadValue for dims and values that neither model has."""
    lent_a, lent_b = with_lent_inputs(facts_a, facts_b), with_lent_inputs(facts_b, facts_a)
    lent_a, lent_b = _lend_index_ranges(lent_a, lent_b), _lend_index_ranges(lent_b, lent_a)
    a = replace(a, dims=with_sizes_of_phase(a.dims, lent_a.inputs))
    b = replace(b, dims=with_sizes_of_phase(b.dims, lent_b.inputs))
    inputs = (*lent_a.inputs, *lent_b.inputs)
    require_dims(a.dims, (*find_open_axes(lent_a.inputs), *find_open_axes(lent_b.inputs)), inputs)
    require_values(a.values, inputs)
    return _match_model(a, lent_a, lent_b), _match_model(b, lent_b, lent_a)


def is_more_specific(model: MatchedModel, other: MatchedModel) -> bool:
    """Whether ``one`` fixes more of its shapes, so that the other follows it."""
    return _count_open_places(model) < _count_open_places(other)


def with_lent_inputs(facts: ModelFacts, other: ModelFacts) -> ModelFacts:
    """``facts`` with the inputs that its file leaves out, as the other model declares them."""
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


def plan_matching_inputs(
    matched: MatchedModel, batch_size: int, other_plan: InputPlan | None, seed: int
) -> tuple[InputPlan, ...]:
    """As ``plan_inputs``, with the values of the other side's plan, and its shapes tried first.

    Without ``other_plan`` this side comes first, and the other one follows it.
    """
    model = matched.model
    own = plan_inputs(
        matched.facts.inputs,
        batch_size,
        dims=model.dims,
        values=model.values,
        data=model.data,
        seed=seed,
    )
    own = tuple(_alias_inputs(plan, matched.twins) for plan in own)
    if other_plan is None:
        return own
    theirs = {tensor.name: tensor for tensor in other_plan.tensors}
    twins = {name: theirs[twin] for name, twin in matched.twins.items() if twin in theirs}
    ladder = [_copy_values(plan, twins) for plan in own]
    if model.data is None and own[0].batch_size == other_plan.batch_size:
        ladder.insert(0, _copy_shapes(ladder[0], matched, twins))
    return tuple(dict.fromkeys(ladder))


# ---------------------------------------------------------------- matching


def _match_model(model: ModelSpec, facts: ModelFacts, other: ModelFacts) -> MatchedModel:
    twins = _pair_inputs(facts.inputs, other.inputs)
    alone = {
        spec.name
        for spec in facts.inputs
        if spec.name not in twins and spec.dtype.startswith("float") and says_state(spec.name)
    }
    zeroed = {name for name in alone - model.values.keys() if model.data is None}
    completed = replace(
        model,
        dims=_without_names_of_other(
            model.dims, _dim_names(facts.inputs), _dim_names(other.inputs)
        ),
        values=_without_names_of_other(model.values, _names(facts.inputs), _names(other.inputs))
        | dict.fromkeys(sorted(zeroed), 0),
    )
    notes = [
        f"{name} of one model was taken for {twin} of the other: they get the same values"
        for name, twin in twins.items()
        if name < twin and model.data is None  # once for both sides; a data file needs no match
    ]
    notes += [
        f"only one model takes {name}: it is 0, where recurrent networks start; "
        f"to choose: --value {name}=… or --data"
        for name in sorted(zeroed)
    ]
    return MatchedModel(completed, facts, twins, tuple(notes))


def _pair_inputs(inputs: tuple[InputSpec, ...], others: tuple[InputSpec, ...]) -> dict[str, str]:
    """By name; the others in order, if type and shape allow it."""
    there = _names(others)
    twins = {spec.name: spec.name for spec in inputs if spec.name in there}
    rest = [spec for spec in others if spec.name not in twins]
    for spec in inputs:
        if spec.name in twins:
            continue
        twin = next((other for other in rest if _may_be_same(spec, other)), None)
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


def _lend_index_ranges(facts: ModelFacts, other: ModelFacts) -> ModelFacts:
    """With index ranges of lookup tables, which one file may show and the other not."""
    twins = _pair_inputs(facts.inputs, other.inputs)
    known = {spec.name: spec.indices for spec in other.inputs}
    inputs = (
        replace(s, indices=s.indices or known.get(twins.get(s.name, ""))) for s in facts.inputs
    )
    return replace(facts, inputs=tuple(inputs))


def _names(inputs: tuple[InputSpec, ...]) -> set[str]:
    return {spec.name for spec in inputs}


def _dim_names(inputs: tuple[InputSpec, ...]) -> set[str]:
    return {name for axis in find_open_axes(inputs) for name in (axis.name, *axis.labels)}


def _without_names_of_other(
    overrides: dict[str, Number], ours: set[str], theirs: set[str]
) -> dict[str, Number]:
    """Without those that only fit the other model."""
    return {name: value for name, value in overrides.items() if name in ours or name not in theirs}


def _count_open_places(matched: MatchedModel) -> int:
    axes = find_open_axes(matched.facts.inputs)
    return sum(len(axis.places) for axis in axes if chosen_size(axis, matched.model.dims) is None)


# ---------------------------------------------------------------- the same bytes


def _alias_inputs(plan: InputPlan, twins: Names) -> InputPlan:
    tensors = (replace(tensor, alias=twins.get(tensor.name, "")) for tensor in plan.tensors)
    return replace(plan, tensors=tuple(tensors))


def _copy_values(plan: InputPlan, twins: Mapping[str, TensorPlan]) -> InputPlan:
    tensors = (_copy_tensor_values(tensor, twins.get(tensor.name)) for tensor in plan.tensors)
    return replace(plan, tensors=tuple(tensors))


def _copy_tensor_values(tensor: TensorPlan, twin: TensorPlan | None) -> TensorPlan:
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


def _copy_shapes(
    plan: InputPlan, matched: MatchedModel, twins: Mapping[str, TensorPlan]
) -> InputPlan:
    """The plan with the other side's shapes, where the model and the user leave them open."""
    specs = {spec.name: spec for spec in matched.facts.inputs}
    said = _requested_sizes(matched)
    followed = {
        name: twin.shape
        for name, twin in twins.items()
        if _accepts_shape(specs[name], twin.shape, said)
    }
    tensors = (replace(t, shape=followed.get(t.name, t.shape)) for t in plan.tensors)
    notes = [note for note in plan.notes if not note.startswith(GUESSED)]
    alone = tuple(spec for spec in matched.facts.inputs if spec.name not in followed)
    return replace(
        plan, tensors=tuple(tensors), notes=(*notes, *_describe_guesses(alone, plan, matched))
    )


def _describe_guesses(
    alone: tuple[InputSpec, ...], plan: InputPlan, matched: MatchedModel
) -> list[str]:
    """Notes on what was guessed for these inputs, which follow nobody."""
    dims, values = matched.model.dims, matched.model.values
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


def _requested_sizes(matched: MatchedModel) -> dict[Place, int]:
    sizes = (
        (axis, chosen_size(axis, matched.model.dims))
        for axis in find_open_axes(matched.facts.inputs)
    )
    return {place: size for axis, size in sizes if size is not None for place in axis.places}


def _accepts_shape(spec: InputSpec, shape: tuple[int, ...], said: Mapping[Place, int]) -> bool:
    if spec.shape is None or len(spec.shape) != len(shape):
        return spec.shape is None
    wanted = (
        dim if isinstance(dim, int) else said.get((spec.name, position))
        for position, dim in enumerate(spec.shape)
    )
    return all(size is None or size == given for size, given in zip(wanted, shape, strict=True))
