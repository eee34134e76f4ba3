"""Texts among outputs and labels, whatever they are wrapped in."""

from __future__ import annotations

from typing import Any

import numpy as np

from modeldyno.core.errors import BadValue


def text_of(value: Any) -> str:
    """Whole numbers become words, so that sequences of tokens are texts too."""
    if isinstance(value, bytes):
        return value.decode("utf-8", errors="replace")
    if isinstance(value, str):
        return value
    values = np.asarray(value)
    if values.dtype.kind in "iub":
        return " ".join(str(int(piece)) for piece in values.reshape(-1))
    if values.dtype.kind in "USO" and values.size:
        return " ".join(text_of(piece) for piece in values.reshape(-1).tolist())
    raise BadValue(
        f"{str(value)[:100]} is no text",
        why="this metric compares texts, or the numbers of their tokens",
        fix="Choose another metric, or the model's output that holds text",
    )


def texts_of(value: Any) -> list[str]:
    """One, or several that are equally right."""
    if isinstance(value, (list, tuple)) and all(isinstance(part, (str, bytes)) for part in value):
        return [text_of(part) for part in value]
    if isinstance(value, np.ndarray) and value.ndim == 1 and value.dtype.kind in "USO":
        return [text_of(part) for part in value.tolist()]
    return [text_of(value)]
