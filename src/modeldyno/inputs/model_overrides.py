"""What the user adds to what a model file says: architecture, inputs, signatures, shapes."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from modeldyno.core.errors import BadValue, InputUnresolved
from modeldyno.core.models import InputSpec, ModelFacts
from modeldyno.core.specs import ModelSpec

UNSTATED = "unstated"  # the dtype of an input that a file names without saying its type
# A frozen graph has placeholders, but its user may feed any other node instead.
_LEAVE_INPUTS_OUT = ("torchscript", "torch-checkpoint", "tf-graph")
_MOST_NAMED = 10
_EXAMPLE = "--input NAME=float32[1,3,224,224], once for each input"


def declares_inputs(facts: ModelFacts) -> bool:
    """Whether files of this format declare the inputs of their models."""
    return facts.format not in _LEAVE_INPUTS_OUT


def with_overrides(facts: ModelFacts, overrides: ModelSpec) -> ModelFacts:
    """The facts with the user's inputs and architecture, which take precedence."""
    architecture = overrides.architecture if _needs_architecture(facts) else None
    inputs = (
        facts.inputs if declares_inputs(facts) else _merge_inputs(facts.inputs, overrides.inputs)
    )
    return replace(facts, inputs=inputs, architecture=architecture or facts.architecture)


def refuse_needless_overrides(overrides: ModelSpec, *models: ModelFacts) -> None:
    """Raises BadValue if the user described what all of these files declare."""
    if overrides.architecture is not None and not any(map(_needs_architecture, models)):
        raise BadValue(
            f"{Path(models[0].path).name} needs no architecture",
            why=f"{models[0].format} files hold their own graph",
            fix="Leave out --architecture",
        )
    if overrides.inputs and all(declares_inputs(facts) for facts in models):
        raise BadValue(
            f"{Path(models[0].path).name} declares its own inputs",
            why=f"{models[0].format} files declare their inputs",
            fix="Leave out --input; open dimensions are set with --dim",
        )


def require_signature(wanted: str, known: Sequence[str], file: str) -> None:
    """Raises BadValue, which lists the known signatures."""
    if wanted in known:
        return
    close = difflib.get_close_matches(wanted, known, n=1)
    more = f" and {len(known) - _MOST_NAMED} more" if len(known) > _MOST_NAMED else ""
    raise BadValue(
        f"{file} has no signature {wanted[:100]!r}",
        why=f"it has {', '.join(name[:100] for name in known[:_MOST_NAMED])}{more}",
        fix=f"Did you mean {close[0][:100]}?" if close else "Use one of those",
    )


def no_signatures_error(file: str, format_: str) -> BadValue:
    return BadValue(
        f"{file} has no signatures to choose from",
        why=f"it is of the format {format_}; of several signatures one is chosen in SavedModels",
        fix="Leave the signature out",
    )


def require_complete(facts: ModelFacts) -> None:
    """Raises InputUnresolved, which says what is missing, if the model cannot be called yet."""
    if declares_inputs(facts):
        return
    name = Path(facts.path).name
    if _needs_architecture(facts) and facts.architecture is None:
        say = "--architecture PACKAGE.MODULE:FACTORY (and its arguments: --arg NAME=VALUE)"
        raise InputUnresolved(
            f"{name} holds weights, not the model that uses them",
            why="a checkpoint does not say what builds the model"
            + ("" if facts.inputs else ", nor what that takes"),
            fix=f"Say {say}{'' if facts.inputs else f' and {_EXAMPLE}'}, or write it once into "
            f"{name}.modeldyno.toml",
        )
    if not facts.inputs:
        raise InputUnresolved(
            f"{name} does not say which inputs the model takes",
            why=f"a {facts.format} file has no place for that",
            fix=f"Say it with {_EXAMPLE}, or in {name}.modeldyno.toml",
        )
    missing = [spec for spec in facts.inputs if spec.dtype == UNSTATED]
    if missing:
        raise InputUnresolved(
            f"{name} does not say the shape and type of its inputs: "
            + ", ".join(spec.name for spec in missing),
            why="TorchScript only says that they are tensors",
            fix="Say it: " + " ".join(f"--input {s.name}=float32[1,3,224,224]" for s in missing),
        )


def _needs_architecture(facts: ModelFacts) -> bool:
    return facts.format == "torch-checkpoint"


def _merge_inputs(
    declared: tuple[InputSpec, ...], described: tuple[InputSpec, ...]
) -> tuple[InputSpec, ...]:
    """By name; only the user's inputs if no name matches."""
    known = {spec.name: spec for spec in declared}
    by_name = {spec.name: spec for spec in described}
    if by_name and not by_name.keys() & known.keys():
        return described
    return tuple((known | by_name).values())


# ---------------------------------------------------------------- shapes as text

MOST_SHAPES = 100
MOST_SIZES = 16
LARGEST = 2**31 - 1

_BRACKETS = re.compile(r"[\[(]([^\[\]()]*)[\])]")
_SEVERAL = re.compile(r"\s*(?:[\[(][^\[\]()]*[\])]\s*,?\s*)+")


def parse_shapes(text: str) -> tuple[tuple[int, ...], ...]:
    """Shapes as users write them: ``28,28,1`` or ``[28,28,1],[10]``. Raises BadValue."""
    stripped = text.strip()
    if stripped.startswith("[[") and stripped.endswith("]]"):  # a JSON list of lists
        stripped = stripped[1:-1]
    if not stripped:
        return ()
    parts = _BRACKETS.findall(stripped) if _SEVERAL.fullmatch(stripped) else [stripped]
    if len(parts) > MOST_SHAPES:
        raise _not_a_shape_error(text)
    return tuple(_parse_sizes(part, text) for part in parts)


def _parse_sizes(part: str, text: str) -> tuple[int, ...]:
    words = [word.strip() for word in part.split(",") if word.strip()]
    is_plain = all(word.isascii() and word.isdecimal() and len(word) <= 10 for word in words)
    if not words or len(words) > MOST_SIZES or not is_plain:
        raise _not_a_shape_error(text)
    sizes = tuple(int(word) for word in words)
    if not all(1 <= size <= LARGEST for size in sizes):
        raise _not_a_shape_error(text)
    return sizes


def _not_a_shape_error(text: str) -> BadValue:
    return BadValue(
        f"{text[:100]!r} is not a shape",
        why="a shape is sizes from 1 on with commas between them, without the batch",
        fix="Write 224,224,3, or [224,224,3],[10] for several inputs",
    )
