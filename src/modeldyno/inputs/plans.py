"""From declared inputs to concrete ones: shapes, batch, values, and notes about guesses."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from modeldyno.core.errors import BadValue, InputUnresolved
from modeldyno.core.models import InputSpec
from modeldyno.core.sessions import DecoderCall
from modeldyno.inputs.decoders import (
    Decoder,
    find_decoder,
    guess_decoding_step,
    with_sizes_of_phase,
)
from modeldyno.inputs.fills import (
    VARIANTS,
    Fill,
    Values,
    choose_values,
    require_value,
    values_in_decoder,
)
from modeldyno.inputs.name_hints import says_batch
from modeldyno.inputs.open_axes import (
    OpenAxis,
    Place,
    choose_sizes,
    chosen_size,
    find_open_axes,
    names_in,
    require_dims,
)

# Each rung costs a session; a model that refuses ten guesses needs the user's help.
_MOST_SIZES = 10
_MOST_SIZES_BESIDE_VALUES = 8
GUESSED = "guessed"  # the first word of notes about guesses
_DTYPES = (
    *("float16", "float32", "float64", "bool"),
    *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
)


@dataclass(frozen=True)
class TensorPlan:
    """One input, complete: enough to make the same bytes anywhere."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    fill: Fill = "normal"
    low: int = 0  # of integers, half-open
    high: int = 2
    value: float | int | bool = 0  # of constant
    is_said: bool = False  # the user gave the value: ``data`` need not have it
    batch_axis: int | None = None  # along which ``data`` is cut or repeated
    yields: tuple[int, ...] | None = ()  # axes that ``data`` decides; None: all, and their number
    is_guessed: bool = False  # nobody gave one of its sizes
    alias: str = ""  # its name in the other model of a comparison, also accepted in ``data``
    twin: tuple[str, str] | None = None  # name and dtype of the tensor whose values it shares


@dataclass(frozen=True)
class InputPlan:
    """All inputs of one call. With ``data``, arrays of that .npz file replace synthetic ones."""

    tensors: tuple[TensorPlan, ...]
    batch_size: int  # items per call, as in the shapes
    seed: int = 0
    data: str | None = None
    notes: tuple[str, ...] = ()  # guesses, and how to override them
    decoder_call: DecoderCall | None = None  # of a decoder with a cache, without ``data``


def plan_inputs(
    inputs: tuple[InputSpec, ...],
    batch_size: int,
    *,
    dims: dict[str, int],
    values: dict[str, float],
    data: str | None,
    seed: int,
) -> tuple[InputPlan, ...]:
    """Plans to try in turn until one runs: the best guess first, then alternatives.

    Raises BadValue for dims and values that nothing has, InputUnresolved for inputs that cannot
    be made.
    """
    for spec in inputs:
        _refuse_unsupported(spec, data)
    axes = find_open_axes(inputs)
    dims = with_sizes_of_phase(dims, inputs)
    axes = guess_decoding_step(axes, inputs, dims)
    require_dims(dims, axes, inputs)
    require_values(values, inputs)
    request = _InputsRequest(
        inputs, axes, resolve_batch(inputs, axes, batch_size, dims), dims, values, data, seed
    )
    ladder = [request.plan(rung, variant) for rung, variant in request.rungs()]
    if request.batch.may_be_refused:
        ladder.append(replace(request, batch=with_batch_of_one(request.batch)).plan(0, 0))
    return tuple(dict.fromkeys(ladder))


# ---------------------------------------------------------------- refusals


def _refuse_unsupported(spec: InputSpec, data: str | None) -> None:
    title = f"Cannot make a value for the input {spec.name!r}"
    if spec.dtype == "string":
        raise InputUnresolved(
            title,
            why="it takes strings, and string inputs are not supported yet (--data cannot hold "
            "them either)",
            fix="Measure the part of the model after its text processing",
        )
    if "(" in spec.dtype:
        raise InputUnresolved(
            title,
            why=f"it is of type {spec.dtype}, and only tensors are supported yet",
            fix="Export the model with tensors as its inputs",
        )
    if spec.dtype not in _DTYPES:
        raise InputUnresolved(
            title,
            why=f"it is of type {spec.dtype}, which NumPy lacks and which is not supported yet",
            fix="Export the model with float32, float16 or integer inputs",
        )
    if spec.shape is None and data is None:
        raise InputUnresolved(
            title,
            why="the model does not even say how many dimensions it has",
            fix=f"Give real inputs with --data FILE.npz that has an array {spec.name!r}",
        )


def require_values(values: Mapping[str, float], inputs: tuple[InputSpec, ...]) -> None:
    """Raises BadValue for a name of no input, or a value that its type cannot hold."""
    specs = {spec.name: spec for spec in inputs}
    for name, value in values.items():
        if name not in specs:
            close = difflib.get_close_matches(name, specs, n=1)
            raise BadValue(
                f"The model has no input {name!r}",
                why="it has: " + ", ".join(specs),
                fix=f"Did you mean --value {close[0]}=…" if close else "Use one of those",
            )
        require_value(specs[name], value)


# ---------------------------------------------------------------- the ladder


@dataclass(frozen=True)
class _InputsRequest:
    """Everything a plan is made from."""

    inputs: tuple[InputSpec, ...]
    axes: tuple[OpenAxis, ...]
    batch: Batch
    dims: Mapping[str, int]
    values: Mapping[str, float]
    data: str | None
    seed: int

    @cached_property
    def guessed(self) -> tuple[OpenAxis, ...]:
        return tuple(a for a in self.axes if a.is_guessed and chosen_size(a, self.dims) is None)

    @cached_property
    def decoder(self) -> Decoder | None:
        return find_decoder(self.inputs, self.axes)

    def _decoder_call(self, sizes: Mapping[Place, int]) -> DecoderCall | None:
        return self.decoder.call(sizes) if self.decoder and self.data is None else None

    @cached_property
    def guessed_places(self) -> set[Place]:
        """Those of guessed axes, and of the axes that follow from them."""
        if self.data is not None:
            return set()  # the data decides
        names = {axis.name for axis in self.guessed}
        following = (
            axis
            for axis in self.axes
            if axis.formula is not None
            and chosen_size(axis, self.dims) is None
            and names & names_in(axis.formula)
        )
        return {place for axis in (*self.guessed, *following) for place in axis.places}

    def rungs(self) -> list[tuple[int, int]]:
        """Which guess of the sizes goes with which variant of the values."""
        if self.data is not None:
            return [(0, 0)]
        sizes = max((len(axis.sizes) for axis in self.guessed), default=1)
        if not self._is_unsure_of_values():
            return [(rung, 0) for rung in range(min(sizes, _MOST_SIZES))]
        by_size = [(rung, 0) for rung in range(min(sizes, _MOST_SIZES_BESIDE_VALUES))]
        return by_size + [(0, variant) for variant in range(1, VARIANTS)]

    def _is_unsure_of_values(self) -> bool:
        return not all(values.is_certain for _, values, _ in self._choose_values_and_shapes(0, 0))

    def plan(self, rung: int, variant: int) -> InputPlan:
        decided = self._choose_values_and_shapes(rung, variant)
        notes = [self.batch.note] if self.batch.note else []
        if self.data is None:
            notes += self._size_notes(rung)
            notes += [_value_note(spec, values) for spec, values, _ in decided if values.guess]
        return InputPlan(
            tensors=tuple(self._plan_tensor(*choice) for choice in decided),
            batch_size=self.batch.size,
            seed=self.seed,
            data=self.data,
            notes=tuple(notes),
            decoder_call=self._decoder_call(self._sizes(rung)),
        )

    def _sizes(self, rung: int) -> dict[Place, int]:
        return choose_sizes(self.axes, rung, self.batch.size, self.dims)

    def _choose_values_and_shapes(
        self, rung: int, variant: int
    ) -> list[tuple[InputSpec, Values, tuple[int, ...]]]:
        sizes = self._sizes(rung)
        unknown = (self.batch.size,)  # of any rank: only real data gets this far
        shapes = {s.name: unknown if s.shape is None else _shape(s, sizes) for s in self.inputs}
        length, call = self._sequence_length(sizes), self._decoder_call(sizes)
        return [
            (
                spec,
                self._choose_values(spec, shapes[spec.name], length, call, variant),
                shapes[spec.name],
            )
            for spec in self.inputs
        ]

    def _choose_values(
        self,
        spec: InputSpec,
        shape: tuple[int, ...],
        length: int,
        call: DecoderCall | None,
        variant: int,
    ) -> Values:
        if spec.name in self.values:
            value = self.values[spec.name]
            return Values("constant", value=value if spec.dtype.startswith("float") else int(value))
        of_decoder = values_in_decoder(spec, shape, call) if call else None
        return of_decoder or choose_values(spec, shape, length, variant)

    def _sequence_length(self, sizes: Mapping[Place, int]) -> int:
        """The sequence that inputs like ``lengths`` speak of: the first open one, or the second
        axis of the first input that has one."""
        if self.guessed:
            return sizes[self.guessed[0].places[0]]
        shapes = (_shape(spec, sizes) for spec in self.inputs)
        return next((shape[1] for shape in shapes if len(shape) > 1), 1)

    def _plan_tensor(self, spec: InputSpec, values: Values, shape: tuple[int, ...]) -> TensorPlan:
        unsaid = (a for a in self.axes if not a.is_batch and chosen_size(a, self.dims) is None)
        ours = {place for axis in unsaid for place in axis.places}
        yields = tuple(i for i in range(len(shape)) if (spec.name, i) in ours)
        return TensorPlan(
            name=spec.name,
            dtype=spec.dtype,
            shape=shape,
            fill=values.fill,
            low=values.low,
            high=values.high,
            value=values.value,
            is_said=spec.name in self.values,
            batch_axis=self._batch_axis(spec),
            yields=None if spec.shape is None else yields,
            is_guessed=any(name == spec.name for name, _ in self.guessed_places),
        )

    def _batch_axis(self, spec: InputSpec) -> int | None:
        if spec.shape is None:
            return 0
        open_batch = (p for a in self.axes if a.is_batch for p in a.places if p[0] == spec.name)
        for _, position in open_batch:
            return position
        is_fixed = self.batch.fixed is not None and len(spec.shape) > 1
        return 0 if is_fixed and spec.shape[0] == self.batch.fixed else None

    def _size_notes(self, rung: int) -> list[str]:
        sizes = self._sizes(rung)
        by_size: dict[int, list[str]] = {}
        for axis in self.guessed:
            by_size.setdefault(sizes[axis.places[0]], []).append(axis.name)
        return [_size_note(size, names) for size, names in by_size.items()]


def _shape(spec: InputSpec, sizes: Mapping[Place, int]) -> tuple[int, ...]:
    return tuple(
        dim if isinstance(dim, int) else sizes[spec.name, position]
        for position, dim in enumerate(spec.shape or ())
    )


def _size_note(size: int, names: list[str]) -> str:
    listed = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    say = " ".join(f"{name}=…" for name in names[:3])
    return f"{GUESSED} {size} for {listed}, which the model leaves open; to choose: --dim {say}"


def _value_note(spec: InputSpec, values: Values) -> str:
    choose = f"--value {spec.name}=… or --data"
    return f"{GUESSED} {values.guess} for {spec.name}; to choose: {choose}"


# ---------------------------------------------------------------- the batch


@dataclass(frozen=True)
class Batch:
    size: int
    fixed: int | None = None  # the model's own, where it leaves none open
    note: str = ""
    notice: str = ""  # before anything is measured, if another one was requested
    may_be_refused: bool = (
        False  # exports may declare a batch open although a reshape inside fixes it
    )


_OPEN_BATCH = "to choose: export the model with an open batch dimension"


def with_batch_of_one(refused: Batch) -> Batch:
    note = f"a batch of {refused.size} did not run, so the batch is 1"
    return Batch(1, note=note, notice=f"{note}; {_OPEN_BATCH}")


def resolve_batch(
    inputs: tuple[InputSpec, ...],
    axes: tuple[OpenAxis, ...],
    batch_size: int,
    dims: Mapping[str, int],
) -> Batch:
    has_named_axis = any(axis.name == "batch" for axis in axes)
    wanted = batch_size if has_named_axis else dims.get("batch", batch_size)
    batches = sorted((a for a in axes if a.is_batch), key=lambda axis: not says_batch(axis.name))
    if batches:
        chosen = chosen_size(batches[0], dims)
        if chosen is None:
            return Batch(wanted, may_be_refused=wanted > 1 and "batch" not in dims)
        if chosen == wanted:
            return Batch(wanted)
        if wanted == 1:
            return Batch(chosen)
        note = f"--dim {batches[0].name}={chosen} sets the batch; asked {wanted}"
        return Batch(chosen, note=note, notice=note)
    if any(spec.shape is None for spec in inputs):  # real data will show
        return Batch(wanted)
    fixed = _fixed_batch_size(inputs)
    note = _fixed_note(fixed, wanted)
    is_requested = note and wanted != 1
    return Batch(fixed or 1, fixed, note, f"{note}; {_OPEN_BATCH}" if is_requested else "")


def _fixed_note(fixed: int | None, wanted: int) -> str:
    """Empty for a batch of 1 where that fits: as the default, it may not be a request."""
    if wanted == (fixed or 1):
        return ""
    if fixed is None:
        return f"the model has no batch dimension, so a call is one item; asked {wanted}"
    fact = f"the model's batch is fixed at {fixed}"
    return fact if wanted == 1 else f"{fact}; asked {wanted}"


def _fixed_batch_size(inputs: tuple[InputSpec, ...]) -> int | None:
    """The batch of a model that leaves none open; None if no axis looks like one."""
    leading = [
        spec.shape[0]
        for spec in inputs
        if spec.shape is not None and len(spec.shape) > 1 and not _is_single_image(spec)
    ]
    sizes = [size for size in leading if isinstance(size, int)]
    return None if not sizes else 1 if 1 in sizes else sizes[0]


def _is_single_image(spec: InputSpec) -> bool:
    """[3, height, width]: the leading axis holds colours."""
    shape = spec.shape or ()
    return len(shape) == 3 and shape[0] in (3, 4) and all(d != 1 for d in shape[1:])
