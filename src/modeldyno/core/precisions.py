"""In what numbers a model keeps its weights."""

from __future__ import annotations

from modeldyno.core.models import ModelFacts

_OF_DTYPE = {
    "float32": "fp32",
    "float16": "fp16",
    "bfloat16": "bf16",
    "int8": "int8",
    "uint8": "int8",
}


def precision_of(facts: ModelFacts) -> str:
    """``fp32``, ``fp16``, ``bf16`` or ``int8``: that of most of its weights; fp32 when it has none
    of these."""
    counts: dict[str, int] = {}
    for dtype, count in facts.weights_by_dtype.items():
        if dtype in _OF_DTYPE:
            counts[_OF_DTYPE[dtype]] = counts.get(_OF_DTYPE[dtype], 0) + count
    return max(counts, key=lambda precision: counts[precision], default="fp32")
