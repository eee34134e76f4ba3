"""Every format we can read."""

from __future__ import annotations

from pathlib import Path
from typing import assert_never

from modeldyno.core.models import ModelFacts
from modeldyno.formats import onnx, scripted, torch_files
from modeldyno.formats.recognise import recognise


def read(path: Path) -> ModelFacts:
    """What a model file says; raises ModelNotFound, ModelUnreadable or UnsafeFormat."""
    match recognise(path):
        case "onnx":
            return onnx.read(path)
        case "scripted":
            return scripted.read(path)
        case "torchscript":
            return torch_files.read_script(path)
        case "torch-export":
            return torch_files.read_export(path)
        case "torch-checkpoint":
            return torch_files.read_checkpoint(path)
        case unreachable:
            assert_never(unreachable)
