"""How the operators that compute run, as text: weights and activations apart.

``fp32`` has both alike, ``int4 weights, int8 activations`` has not. Where operators run
differently, their precisions are joined by +, the most frequent first.
"""

from __future__ import annotations

# By the type of the numbers.
NAMES = {
    **{"float64": "fp64", "float32": "fp32", "float16": "fp16", "bfloat16": "bf16"},
    **{f"{sign}int{bits}": f"int{bits}" for sign in ("", "u") for bits in (2, 4, 8, 16)},
    **dict.fromkeys(("float4", "float4_e2m1fn"), "fp4"),
}


def of_operator(weights: str | None, activations: str) -> str:
    """``weights``: as stored; None if they are like the activations, or there are none."""
    if weights in (None, activations):
        return activations
    return f"{weights} weights, {activations} activations"


def parts(precision: str) -> list[str]:
    return [part.strip() for part in precision.split("+")]


def arithmetic(part: str) -> str:
    """``int8`` of ``int4 weights, int8 activations``: the type that is multiplied in."""
    return part.removesuffix(" activations").rpartition(", ")[2]


def are_alike(a: str, b: str) -> bool:
    """``int8+fp32`` and ``fp32+int8`` are the same work."""
    return set(parts(a)) == set(parts(b))


def difference(a: str | None, b: str | None, names: tuple[str, str]) -> str:
    """``A computes in fp32, B in int8``; empty if they are alike or one is unknown."""
    if not a or not b or are_alike(a, b):
        return ""
    return f"{names[0]} computes {phrase(a)}, {names[1]} {phrase(b)}"


def phrase(precision: str) -> str:
    """What follows “computes”: ``in fp32``, ``with int4 weights, int8 activations``."""
    return f"{'with' if ' ' in precision else 'in'} {precision}"
