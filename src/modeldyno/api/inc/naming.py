"""What clients of ``/api`` call things, found whatever they send: letters, underscores, aliases."""

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
from modeldyno.core.tuning import OptimizationType

TYPES: dict[OptimizationType, Numbered] = {
    "quantization": QUANTIZATION,
    "graph": GRAPH_OPTIMIZATION,
    "mixed-precision": MIXED_PRECISION,
}
# Other names for the same: the original's own for its kinds of ONNX Runtime, and ours.
_ALSO = {"onnxrt_qlinearops": ONNXRT, "onnxrt_integerops": ONNXRT, "onnx": ONNXRT}


def framework_named(name: str) -> Numbered:
    found = find_named(FRAMEWORKS, name) or _ALSO.get(name.strip().lower())
    if found is None:
        raise BadValue(
            f"Framework {name[:100]} is not supported.",
            fix="Choose one of: " + ", ".join(one.name for one in FRAMEWORKS),
        )
    return found


def domain_named(name: str) -> str:
    """Empty: no domain in particular. ``image_recognition`` will do as well."""
    if not name.strip():
        return ""
    found = find_named(DOMAINS, name.replace("_", " "))
    if found is None:
        raise BadValue(
            f"Domain {name[:100]} is not supported.",
            fix="Choose one of: " + ", ".join(one.name for one in DOMAINS),
        )
    return found.name
