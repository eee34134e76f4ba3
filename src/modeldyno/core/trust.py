"""What loading a file can do to you, by its format."""

from __future__ import annotations

from typing import Literal

from modeldyno.core.models import ModelFacts, ModelFormat

Tier = Literal["data", "program", "code"]

TIERS: dict[ModelFormat, Tier] = {
    "onnx": "data",
    "scripted": "data",
    "openvino-ir": "data",
    # What reaches outside of the model is refused when it is read (formats/tf_safety.py), as are
    # Keras models that name anything but Keras's own layers (formats/keras_files.py).
    "tf-graph": "data",
    "saved-model": "data",
    "keras": "data",
    "litert": "data",
    "torchscript": "program",  # torch interprets it; it can allocate, loop and call operators
    "torch-export": "code",  # its loader unpickles members: torch.export says so itself
    "torch-checkpoint": "code",  # weights alone are data; what builds the model is Python code
}


def needs_trust(model_format: ModelFormat) -> bool:
    return TIERS[model_format] != "data"


def warning(facts: ModelFacts) -> str:
    """What somebody who named this file should know; empty for data."""
    match facts.format:
        case "torchscript":
            return "TorchScript is a program: measuring it runs what is in the file"
        case "torch-export":
            return "a .pt2 file can hold code: loading it can run what is in the file"
        case "torch-checkpoint":
            factory = facts.architecture.factory if facts.architecture else "its architecture"
            return f"runs the Python code of {factory}"
        case _:
            return ""
