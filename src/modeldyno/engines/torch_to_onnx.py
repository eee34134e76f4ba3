"""PyTorch to ONNX: exported programs, checkpoints with their architecture, TorchScript."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

from modeldyno.core.errors import EngineFailed, ModeldynoError
from modeldyno.core.models import InputSpec
from modeldyno.engines import torch_loading
from modeldyno.engines.conversions import Material
from modeldyno.engines.inputs import synthesise
from modeldyno.engines.torch_loading import Arguments, Loaded

_LEGACY = (
    "torch has no new way to export TorchScript: its older exporter was used, which torch will drop"
)


def convert(material: Material, place: Path) -> tuple[str, ...]:
    import torch

    torch_loading.refuse_old(torch.__version__)
    torch.set_num_threads(material.target.threads)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if material.target.format == "torch-export":
            _program(material, place)
            return ()
        loaded = torch_loading.load(material.target, torch.device("cpu"))
        if material.target.format == "torchscript":
            _script(loaded, material, place)
            return (_LEGACY,)
        _module(loaded, material, place)
        return ()


def _program(material: Material, place: Path) -> None:
    """What is open in the program stays open: it says so itself."""
    import torch

    torch_loading.refuse_machine_code(material.target.model)
    program = torch.export.load(material.target.model)
    torch.onnx.export(program, (), str(place), dynamo=True, external_data=False, verbose=False)


def _module(loaded: Loaded, material: Material, place: Path) -> None:
    """With the names that were said; where torch finds that two open sizes are not free, it may
    decide which of them are."""
    import torch

    arguments, keywords = _example(loaded, material)
    named, free = {}, {}
    dims: dict[str, Any] = {}
    for spec in material.inputs:
        named[spec.name] = {
            axis: dims.setdefault(name, torch.export.Dim(name))
            for axis, name in _open(spec).items()
        }
        free[spec.name] = dict.fromkeys(_open(spec), torch.export.Dim.AUTO)
    problem: Exception | None = None
    for shapes in (named, free):
        asked: Any = shapes if keywords else tuple(shapes.values())
        try:
            torch.onnx.export(
                loaded.module,
                arguments,
                str(place),
                kwargs=keywords or None,
                input_names=[spec.name for spec in material.inputs],
                dynamic_shapes=asked,
                dynamo=True,
                external_data=False,
                verbose=False,
            )
        except ModeldynoError:
            raise
        except Exception as error:  # noqa: BLE001 - the exporter wraps whatever a model raises
            problem = problem or error
        else:
            return
    raise EngineFailed(
        "PyTorch cannot export this model to ONNX",
        why=_reason(problem),
        fix="Export it where it was made, with torch.onnx.export, and look at what that says",
    ) from problem


def _script(loaded: Loaded, material: Material, place: Path) -> None:
    import torch

    arguments, keywords = _example(loaded, material)
    names = [spec.name for spec in material.inputs]
    torch.onnx.export(
        loaded.module,
        (*arguments, *keywords.values()),
        str(place),
        input_names=names,
        dynamic_axes={spec.name: _open(spec) for spec in material.inputs if _open(spec)},
        dynamo=False,
    )


def _example(loaded: Loaded, material: Material) -> Arguments:
    import torch

    tensors = synthesise(material.example).tensors
    return loaded.arrange({name: torch.from_numpy(array) for name, array in tensors.items()})


def _open(spec: InputSpec) -> dict[int, str]:
    """Axes that are not fixed, with what they are called."""
    names = enumerate(spec.shape or ())
    return {
        axis: _identifier(dim) if isinstance(dim, str) else f"{_identifier(spec.name)}_{axis}"
        for axis, dim in names
        if not isinstance(dim, int)
    }


def _identifier(name: str) -> str:
    plain = "".join(letter if letter.isalnum() else "_" for letter in name)
    return plain if plain.isidentifier() else f"d_{plain}"


def _reason(error: Exception | None) -> str:
    """What the model did, which the exporter packs into advice on how to report it."""
    while error is not None and isinstance(error.__cause__, Exception):
        error = error.__cause__
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0] if lines else ''}"[:600]
