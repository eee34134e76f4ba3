"""Frameworks, domains and optimization types by the names that clients of ``/api`` use."""

from __future__ import annotations

from modeldyno.core.dictionaries import (
    DOMAINS,
    FRAMEWORKS,
    GRAPH_OPTIMIZATION,
    MIXED_PRECISION,
    ONNXRT,
    QUANTIZATION,
    Numbered,
    find_named,
)
from modeldyno.core.errors import BadValue
from modeldyno.core.optimization_settings import OptimizationType

TYPES: dict[OptimizationType, Numbered] = {
    "quantization": QUANTIZATION,
    "graph": GRAPH_OPTIMIZATION,
    "mixed-precision": MIXED_PRECISION,
}
# The original's names of its ONNX Runtime backends, and ours.
_ALIASES = {"onnxrt_qlinearops": ONNXRT, "onnxrt_integerops": ONNXRT, "onnx": ONNXRT}


def find_framework(name: str) -> Numbered:
    framework = find_named(FRAMEWORKS, name) or _ALIASES.get(name.strip().lower())
    if framework is None:
        raise BadValue(
            f"Framework {name[:100]} is not supported.",
            fix="Choose one of: " + ", ".join(known.name for known in FRAMEWORKS),
        )
    return framework


def find_domain(name: str) -> str:
    """Empty for no domain in particular. Underscores are taken as spaces."""
    if not name.strip():
        return ""
    domain = find_named(DOMAINS, name.replace("_", " "))
    if domain is None:
        raise BadValue(
            f"Domain {name[:100]} is not supported.",
            fix="Choose one of: " + ", ".join(known.name for known in DOMAINS),
        )
    return domain.name
