"""Sizes of the axes that a model leaves open: the batch, formulas, and guesses for the rest."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import chain

from modeldyno.core.errors import BadValue
from modeldyno.core.models import Dim, InputSpec
from modeldyno.inputs.name_hints import (
    says_batch,
    says_image_side,
    says_latent,
    says_past,
    says_sequence,
    says_state,
    says_total,
)

Place = tuple[str, int]  # an input's name and a position in its shape


@dataclass(frozen=True)
class OpenAxis:
    """Places that share one size: all of a symbol, or one unnamed place, or the unnamed batch."""

    name: str  # as `--dim` has it
    places: tuple[Place, ...]
    sizes: tuple[int, ...] = ()  # guesses; empty for the batch and formulas
    is_batch: bool = False
    formula: ast.expr | None = None  # "past + 1": follows from other axes

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(place_label(place) for place in self.places)

    @property
    def is_guessed(self) -> bool:
        return bool(self.sizes)


def place_label(place: Place) -> str:
    return f"{place[0]}.{place[1]}"


def find_open_axes(inputs: tuple[InputSpec, ...]) -> tuple[OpenAxis, ...]:
    """Every axis whose size the model leaves open, in the order of the inputs."""
    symbols = {dim for spec in inputs for dim in spec.shape or () if isinstance(dim, str)}
    sums = parse_formulas(symbols)
    batch = _find_batch_places(inputs, symbols - sums.keys())
    grouped: dict[str, list[tuple[InputSpec, int]]] = {}
    for spec in inputs:
        for position, dim in enumerate(spec.shape or ()):
            if isinstance(dim, int):
                continue
            unnamed = (
                "batch" if (spec.name, position) in batch else place_label((spec.name, position))
            )
            grouped.setdefault(f"symbol {dim}" if dim else unnamed, []).append((spec, position))
    has_past = any(says_past(name) for name in (*symbols, *(spec.name for spec in inputs)))
    return tuple(_make_open_axis(members, batch, sums, has_past) for members in grouped.values())


def _make_open_axis(
    members: list[tuple[InputSpec, int]],
    batch: set[Place],
    sums: dict[str, ast.expr],
    has_past: bool,
) -> OpenAxis:
    places = tuple((spec.name, position) for spec, position in members)
    spec, position = members[0]
    symbol = (spec.shape or ())[position]
    name = symbol if isinstance(symbol, str) else place_label(places[0])
    if name in sums:
        return OpenAxis(name, places, formula=sums[name])
    if places[0] in batch:
        return OpenAxis(name, places, is_batch=True)
    return OpenAxis(name, places, guess_sizes(spec, position, has_past))


# ---------------------------------------------------------------- the batch


def _find_batch_places(inputs: tuple[InputSpec, ...], symbols: set[str]) -> set[Place]:
    said = {s for s in symbols if says_batch(s)}
    # Beside a batch in words, a letter is something else: [batch_size, N] of a signal.
    named = {s for s in said if len(s) > 1} or said
    named |= {
        dim
        for spec in inputs
        for dim in (spec.shape or ())[:1]
        if isinstance(dim, str) and dim in symbols and not _cannot_be_batch(dim)
    }
    places = {
        (spec.name, position)
        for spec in inputs
        for position, dim in enumerate(spec.shape or ())
        if dim in named or (dim is None and position == 0)
    }
    states = {(spec.name, 1) for spec in inputs if _is_recurrent_state(spec, bool(places))}
    return places | states


def _cannot_be_batch(symbol: str) -> bool:
    return says_sequence(symbol) or says_image_side(symbol) or says_past(symbol)


def _is_recurrent_state(spec: InputSpec, others_have_batch: bool) -> bool:
    """[layers, ?, features], as recurrent networks have it."""
    match spec.shape:
        case (int(), None, int()):
            return others_have_batch or says_state(spec.name)
        case _:
            return False


# ---------------------------------------------------------------- sizes


def choose_sizes(
    axes: tuple[OpenAxis, ...], rung: int, batch_size: int, dims: Mapping[str, int]
) -> dict[Place, int]:
    """The size of every open place. Guesses cycle, so each rung is a new combination."""
    by_name: dict[str, int] = {}
    for axis in sorted(axes, key=lambda axis: axis.formula is not None):
        chosen = chosen_size(axis, dims)
        if chosen is not None:
            by_name[axis.name] = chosen
        elif axis.formula is not None:
            by_name[axis.name] = max(1, evaluate(axis.formula, by_name))
        else:
            guess = axis.sizes[rung % len(axis.sizes)] if axis.sizes else batch_size
            by_name[axis.name] = guess
    return {place: by_name[axis.name] for axis in axes for place in axis.places}


def chosen_size(axis: OpenAxis, dims: Mapping[str, int]) -> int | None:
    """The size that the user chose for this axis, by its name or one of its places."""
    return next((dims[name] for name in (axis.name, *axis.labels) if name in dims), None)


def require_dims(
    dims: Mapping[str, int], axes: tuple[OpenAxis, ...], inputs: tuple[InputSpec, ...]
) -> None:
    """Raises BadValue for an unknown name or an impossible size."""
    batches = {axis.name for axis in axes if axis.is_batch}
    known = list(dict.fromkeys(chain.from_iterable((a.name, *a.labels) for a in axes)))
    for name, size in dims.items():
        if name not in known and name != "batch":
            raise _no_such_dim_error(name, known, axes, inputs)
        if size < (1 if name == "batch" or name in batches else 0):
            raise BadValue(
                f"--dim {name}={size} is not a size",
                why="sizes are whole numbers from 1 on",
                fix=f"Say --dim {name}=1 or more",
            )


def _no_such_dim_error(
    name: str, known: list[str], axes: tuple[OpenAxis, ...], inputs: tuple[InputSpec, ...]
) -> BadValue:
    title = f"The model has no open dimension {name!r}"
    fixed = _list_fixed_places(inputs)
    if name in fixed:
        return BadValue(
            f"--dim {name} cannot change anything",
            why=f"the model fixes that dimension at {fixed[name]}",
            fix="Leave it out, or export the model with a dynamic dimension",
        )
    if not known:
        return BadValue(title, why="every input has a fixed shape", fix=f"Leave out --dim {name}")
    names = ", ".join(dict.fromkeys((*map(_describe_axis, axes), "batch")))
    close = difflib.get_close_matches(name, [*known, "batch"], n=1)
    meant = f"Did you mean --dim {close[0]}=…" if close else "Use one of those"
    return BadValue(title, why=f"it has: {names}", fix=meant)


def _describe_axis(axis: OpenAxis) -> str:
    """``s41 (input_ids.1)``: torch.export makes up names that say nothing."""
    is_made_up = axis.name[:1] == "s" and axis.name[1:].isdigit()
    return f"{axis.name} ({axis.labels[0]})" if is_made_up else axis.name


def _list_fixed_places(inputs: Iterable[InputSpec]) -> dict[str, int]:
    return {
        place_label((spec.name, position)): dim
        for spec in inputs
        for position, dim in enumerate(spec.shape or ())
        if isinstance(dim, int)
    }


# ---------------------------------------------------------------- formulas


def parse_formulas(symbols: set[str]) -> dict[str, ast.expr]:
    """Symbols that follow from others: "past_length + 1", and totals of past and present."""
    by_symbol: dict[str, ast.expr] = {}
    plain = {symbol for symbol in symbols if not says_total(symbol)}
    for symbol in symbols:
        formula = _parse_formula(symbol)
        if formula is not None and names_in(formula) <= plain:
            by_symbol[symbol] = formula
    past = sorted(s for s in symbols if says_past(s) and s not in by_symbol and not says_total(s))
    present = sorted(s for s in symbols if says_sequence(s) and not _is_past_or_total(s, by_symbol))
    for symbol in sorted(s for s in symbols if says_total(s) and s not in by_symbol):
        if past and present:
            by_symbol[symbol] = ast.BinOp(ast.Name(past[0]), ast.Add(), ast.Name(present[0]))
    return by_symbol


def _is_past_or_total(symbol: str, formulas: Mapping[str, ast.expr]) -> bool:
    return says_past(symbol) or says_total(symbol) or symbol in formulas


def _parse_formula(symbol: str) -> ast.expr | None:
    try:
        tree = ast.parse(symbol[:200], mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return tree if isinstance(tree, ast.BinOp) and _is_arithmetic(tree) else None


def _is_arithmetic(tree: ast.expr) -> bool:
    match tree:
        case ast.BinOp(left, ast.Add() | ast.Sub() | ast.Mult(), right):
            return _is_arithmetic(left) and _is_arithmetic(right)
        case ast.Name() | ast.Constant(value=int()):
            return True
        case _:
            return False


def names_in(tree: ast.expr) -> set[str]:
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}


def evaluate(tree: ast.expr, sizes: Mapping[str, int]) -> int:
    match tree:
        case ast.BinOp(left, operator, right):
            a, b = evaluate(left, sizes), evaluate(right, sizes)
            if isinstance(operator, ast.Mult):
                return a * b
            return a + b if isinstance(operator, ast.Add) else a - b
        case ast.Name(name):
            return sizes[name]
        case ast.Constant(value=int(value)):
            return value
        case _:
            raise AssertionError(tree)


# ---------------------------------------------------------------- guesses

# Exact sizes that models insist on are among them: 576 of a voice detector,
# 3000 of Whisper, 77 of CLIP. The large ones come late: attention over 16000 takes gigabytes.
IMAGE = (224, 320, 640, 256, 48, 32, 512, 299, 28, 64)
FEATURE_MAP = (64, 32, 16, 128, 8, 1)
CHANNELS = (3, 1)
FRAMES = (16, 8, 32, 1)
SIGNAL = (128, 512, 576, 256, 1024, 16000, 3000, 64, 16, 1)
TOKENS = (128, 64, 77, 32, 16, 256, 512, 1024, 8, 1)
# With a past, either a prompt after one remembered token or one token after a long past.
TOKENS_AFTER_PAST = (128, 1, 64, 16)
PAST = (1, 128, 1, 16)


def guess_sizes(spec: InputSpec, position: int, has_past: bool) -> tuple[int, ...]:
    shape = spec.shape or ()
    symbol = shape[position] if isinstance(shape[position], str) else ""
    assert isinstance(symbol, str)
    if says_past(symbol) or (says_past(spec.name) and not says_sequence(symbol)):
        return PAST
    if says_image_side(symbol):
        return _guess_image_side(spec, shape)
    if len(shape) == 4 and not says_sequence(symbol):
        return _guess_image_size(spec, position)
    if len(shape) == 5:
        return FRAMES if position < 3 else FEATURE_MAP
    if has_past:
        return TOKENS_AFTER_PAST
    return SIGNAL if spec.dtype.startswith("float") else TOKENS


def _guess_image_size(spec: InputSpec, position: int) -> tuple[int, ...]:
    """[batch, channels, height, width], or the channels last."""
    shape = spec.shape or ()
    colours = (1, 3, 4)
    if shape[1] in colours or (shape[3] in colours and position in (1, 2)):
        return _guess_image_side(spec, shape)
    if not any(isinstance(dim, int) for dim in shape[1:]):
        return CHANNELS if position == 1 else IMAGE
    return FEATURE_MAP


def _guess_image_side(spec: InputSpec, shape: tuple[Dim, ...]) -> tuple[int, ...]:
    """First the size of the other side, if that is fixed and not the height of a line of text."""
    if says_latent(spec.name):
        return FEATURE_MAP
    fixed = [d for d in shape[1:] if isinstance(d, int) and d >= 64]
    return (*fixed[:1], *IMAGE)
