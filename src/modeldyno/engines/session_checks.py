"""Checks shared by sessions of several engines: of the model, its inputs and its precision."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from modeldyno.core.errors import BadValue, EngineFailed
from modeldyno.core.sessions import Target
from modeldyno.engines.protocol import Tensors


def shapes_of(inputs: Tensors) -> dict[str, tuple[int, ...]]:
    return {name: tuple(array.shape) for name, array in inputs.items()}


def with_shapes_of(inputs: Tensors, target: Target) -> Target:
    return replace(target, shapes=shapes_of(inputs))


def require_own_precision(target: Target, engine: str, kind: str) -> None:
    """For an engine that cannot change the precision of a file; raises BadValue."""
    if target.precision not in (None, "fp32"):
        raise BadValue(
            f"{engine} cannot change the precision to {target.precision!r}",
            why=f"{kind} file fixes its precision",
            fix="Give a model that was converted to that precision",
        )


def require_input(name: str, array: Any, dtypes: Mapping[str, str]) -> None:
    """Raises ValueError for unknown inputs and other dtypes, which engines silently convert."""
    if name not in dtypes:
        raise ValueError(f"the model has no input {name!r}, but {', '.join(dtypes)}")
    if str(array.dtype) != dtypes[name]:
        raise ValueError(f"input {name!r} is {dtypes[name]}, and {array.dtype} was given")


def cannot_load(
    engine: str, error: Exception, without: tuple[str, ...] = (), verb: str = "load"
) -> EngineFailed:
    """``without``: prefixes of unhelpful lines in the engine's message."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    message = [line for line in lines if not line.startswith(without)] if without else lines
    return EngineFailed(
        f"{engine} could not {verb} the model",
        why=(" ".join(message or lines) or type(error).__name__)[:600],
        fix="Check its operators with `modeldyno inspect`, or use another engine",
    )


def join_by_frequency(names: Iterable[str]) -> str | None:
    """The distinct names, most frequent first: ``bf16+fp32``; None if there are none."""
    distinct = [name for name, _ in Counter(names).most_common()]
    return (" + " if any(" " in name for name in distinct) else "+").join(distinct) or None
