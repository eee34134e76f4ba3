"""Models of the scripted engine: a JSON file that says how long an inference takes.

    {"modeldyno": "scripted/1", "inputs": [{"name": "x", "dtype": "int64", "shape": ["batch"]}]}

``inputs`` is optional. All other keys belong to the engine.
"""

from __future__ import annotations

import json
from pathlib import Path

from modeldyno.core.codec import Mismatch, decode
from modeldyno.core.errors import ModelUnreadable
from modeldyno.core.models import InputSpec, ModelFacts, TensorSpec
from modeldyno.formats.model_facts import make_model_facts
from modeldyno.formats.refusals import printable_name

_INPUTS = (InputSpec("x", "float32", ("batch", 4)),)
_OUTPUTS = (TensorSpec("y", "float32", ("batch", 1)),)


def read(path: Path) -> ModelFacts:
    """The facts of a script; raises ModelUnreadable if its inputs are not as described above."""
    return make_model_facts(
        path,
        "scripted",
        "scripted",
        inputs=_read_inputs(path),
        outputs=_OUTPUTS,
        weights={},
        producer="modeldyno",
    )


def _read_inputs(path: Path) -> tuple[InputSpec, ...]:
    script = json.loads(path.read_bytes())
    if "inputs" not in script:
        return _INPUTS
    try:
        inputs: tuple[InputSpec, ...] = decode(tuple[InputSpec, ...], script["inputs"])
    except Mismatch as error:
        raise ModelUnreadable(
            f"{printable_name(path)} describes its inputs wrongly",
            why=str(error),
            fix='Write them as [{"name": "x", "dtype": "float32", "shape": ["batch", 4]}]',
        ) from error
    return inputs
