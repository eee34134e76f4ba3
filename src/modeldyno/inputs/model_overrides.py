"""What the user says about a model that its file leaves out."""

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


def says_inputs(facts: ModelFacts) -> bool:
    """Whether the format itself declares what the model takes."""
    return facts.format not in _LEAVE_INPUTS_OUT


def completed(facts: ModelFacts, said: ModelSpec) -> ModelFacts:
    """The facts with what was said about inputs and architecture; the user's word wins."""
    architecture = said.architecture if _needs_architecture(facts) else None
    inputs = facts.inputs if says_inputs(facts) else _merged(facts.inputs, said.inputs)
    return replace(facts, inputs=inputs, architecture=architecture or facts.architecture)


def refuse_needless(said: ModelSpec, *models: ModelFacts) -> None:
    """Raises BadValue when something was described that every one of these files says itself."""
    if said.architecture is not None and not any(map(_needs_architecture, models)):
        raise BadValue(
            f"{Path(models[0].path).name} needs no architecture",
            why=f"{models[0].format} files hold their own graph",
            fix="Leave out --architecture",
        )
    if said.inputs and all(says_inputs(facts) for facts in models):
        raise BadValue(
            f"{Path(models[0].path).name} says itself what it takes",
            why=f"{models[0].format} files declare their inputs",
            fix="Leave out --input; open dimensions are set with --dim",
        )


def check_signature(wanted: str, known: Sequence[str], file: str) -> None:
    """Raises BadValue, which tells those that there are."""
    if wanted in known:
        return
    close = difflib.get_close_matches(wanted, known, n=1)
    more = f" and {len(known) - _MOST_NAMED} more" if len(known) > _MOST_NAMED else ""
    raise BadValue(
        f"{file} has no signature {wanted[:100]!r}",
        why=f"it has {', '.join(one[:100] for one in known[:_MOST_NAMED])}{more}",
        fix=f"Did you mean {close[0][:100]}?" if close else "Use one of those",
    )


def without_signatures(file: str, format_: str) -> BadValue:
    return BadValue(
        f"{file} has no signatures to choose from",
        why=f"it is of the format {format_}; of several signatures one is chosen in SavedModels",
        fix="Leave the signature out",
    )


def check_complete(facts: ModelFacts) -> None:
    """Raises InputUnresolved when the model cannot be called yet, and says what is missing."""
    if says_inputs(facts):
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
            f"{name} does not say of which shape and type its inputs are: "
            + ", ".join(spec.name for spec in missing),
            why="TorchScript only says that they are tensors",
            fix="Say it: " + " ".join(f"--input {s.name}=float32[1,3,224,224]" for s in missing),
        )


def _needs_architecture(facts: ModelFacts) -> bool:
    return facts.format == "torch-checkpoint"


def _merged(declared: tuple[InputSpec, ...], said: tuple[InputSpec, ...]) -> tuple[InputSpec, ...]:
    """By name; where no name agrees, what was said is all there is."""
    known = {spec.name: spec for spec in declared}
    by_name = {spec.name: spec for spec in said}
    if by_name and not by_name.keys() & known.keys():
        return said
    return tuple((known | by_name).values())


# ---------------------------------------------------------------- shapes as text

MOST_SHAPES = 100
MOST_SIZES = 16
LARGEST = 2**31 - 1

_BRACKETS = re.compile(r"[\[(]([^\[\]()]*)[\])]")
_SEVERAL = re.compile(r"\s*(?:[\[(][^\[\]()]*[\])]\s*,?\s*)+")


def shapes_in(text: str) -> tuple[tuple[int, ...], ...]:
    """Each shape with its sizes, none when there is nothing; raises BadValue."""
    said = text.strip()
    if said.startswith("[[") and said.endswith("]]"):  # a list of lists, as JSON has it
        said = said[1:-1]
    if not said:
        return ()
    parts = _BRACKETS.findall(said) if _SEVERAL.fullmatch(said) else [said]
    if len(parts) > MOST_SHAPES:
        raise _bad(text)
    return tuple(_sizes(part, text) for part in parts)


def _sizes(part: str, text: str) -> tuple[int, ...]:
    words = [word.strip() for word in part.split(",") if word.strip()]
    is_plain = all(word.isascii() and word.isdecimal() and len(word) <= 10 for word in words)
    if not words or len(words) > MOST_SIZES or not is_plain:
        raise _bad(text)
    sizes = tuple(int(word) for word in words)
    if not all(1 <= size <= LARGEST for size in sizes):
        raise _bad(text)
    return sizes


def _bad(text: str) -> BadValue:
    return BadValue(
        f"{text[:100]!r} is no shape",
        why="a shape is sizes from 1 on with commas between them, without the batch",
        fix="Write 224,224,3, or [224,224,3],[10] for several inputs",
    )
