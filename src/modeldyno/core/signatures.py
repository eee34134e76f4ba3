"""What the inputs and outputs of a graph are called when a signature names them for callers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Signature:
    """Names for callers, and the tensors that they mean."""

    key: str
    inputs: Mapping[str, int]
    outputs: Mapping[str, int]


def serving(signatures: Sequence[Signature], inputs: Sequence[int]) -> Signature | None:
    """The one that names all inputs of the graph; of several the first by its key, for files and
    engines tell them in different orders."""
    fitting = [one for one in signatures if set(one.inputs.values()) == set(inputs)]
    return min(fitting, key=lambda one: one.key, default=None)


def names_of(
    tensors: Sequence[int], said: Mapping[str, int], own_names: Sequence[str]
) -> list[str]:
    """Of each tensor: what the signature calls it, else its own name, each name once.

    ``own_names`` are those of the same tensors, in the same order.
    """
    by_tensor: dict[int, str] = {}
    for name in sorted(said, reverse=True):  # of two names the first one stays
        by_tensor[said[name]] = name
    names: list[str] = []
    for number, (tensor, own) in enumerate(zip(tensors, own_names, strict=True)):
        name = by_tensor.get(tensor) or own or f"tensor {number}"
        names.append(name if name not in names else f"{name}#{number}")
    return names
