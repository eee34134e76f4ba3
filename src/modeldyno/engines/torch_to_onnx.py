"""PyTorch to ONNX: exported programs, checkpoints with their architecture, TorchScript."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

from modeldyno.core.errors import EngineFailed, ModeldynoError
from modeldyno.core.models import InputSpec
from modeldyno.engines import torch_loading
from modeldyno.engines.conversions import ConversionSource
from modeldyno.engines.inputs import synthesise
from modeldyno.engines.torch_loading import Arguments, LoadedModule

_LEGACY_NOTE = "exported by torch's old exporter, the only one for TorchScript, to be removed soon"


def convert(source: ConversionSource, place: Path) -> tuple[str, ...]:
    import torch

    torch_loading.require_safe_version(torch.__version__)
    torch.set_num_threads(source.target.threads)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if source.target.format == "torch-export":
            _export_program(source, place)
            return ()
        loaded = torch_loading.load(source.target, torch.device("cpu"))
        if source.target.format == "torchscript":
            _export_script(loaded, source, place)
            return (_LEGACY_NOTE,)
        _export_module(loaded, source, place)
        return ()


def _export_program(source: ConversionSource, place: Path) -> None:
    """The program itself says which sizes are dynamic; they stay so."""
    import torch

    torch_loading.require_no_machine_code(source.target.model)
    program = torch.export.load(source.target.model)
    torch.onnx.export(program, (), str(place), dynamo=True, external_data=False, verbose=False)


def _export_module(loaded: LoadedModule, source: ConversionSource, place: Path) -> None:
    """First with all dynamic sizes by their names; if torch finds that some of them depend on each
    other, it may decide which are dynamic."""
    import torch

    arguments, keywords = _make_example_inputs(loaded, source)
    named, automatic = {}, {}
    dims: dict[str, Any] = {}
    for spec in source.inputs:
        named[spec.name] = {
            axis: dims.setdefault(name, torch.export.Dim(name))
            for axis, name in _dynamic_axes(spec).items()
        }
        automatic[spec.name] = dict.fromkeys(_dynamic_axes(spec), torch.export.Dim.AUTO)
    problem: Exception | None = None
    for shapes in (named, automatic):
        dynamic_shapes: Any = shapes if keywords else tuple(shapes.values())
        try:
            torch.onnx.export(
                loaded.module,
                arguments,
                str(place),
                kwargs=keywords or None,
                input_names=[spec.name for spec in source.inputs],
                dynamic_shapes=dynamic_shapes,
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
        why=_error_reason(problem),
        fix="Export it with torch.onnx.export where it was created, and see what that reports",
    ) from problem


def _export_script(loaded: LoadedModule, source: ConversionSource, place: Path) -> None:
    import torch

    arguments, keywords = _make_example_inputs(loaded, source)
    names = [spec.name for spec in source.inputs]
    torch.onnx.export(
        loaded.module,
        (*arguments, *keywords.values()),
        str(place),
        input_names=names,
        dynamic_axes={s.name: axes for s in source.inputs if (axes := _dynamic_axes(s))},
        dynamo=False,
    )


def _make_example_inputs(loaded: LoadedModule, source: ConversionSource) -> Arguments:
    import torch

    tensors = synthesise(source.example).tensors
    return loaded.arrange({name: torch.from_numpy(array) for name, array in tensors.items()})


def _dynamic_axes(spec: InputSpec) -> dict[int, str]:
    """With their names."""
    return {
        axis: _identifier(dim) if isinstance(dim, str) else f"{_identifier(spec.name)}_{axis}"
        for axis, dim in enumerate(spec.shape or ())
        if not isinstance(dim, int)
    }


def _identifier(name: str) -> str:
    plain = "".join(letter if letter.isalnum() else "_" for letter in name)
    return plain if plain.isidentifier() else f"d_{plain}"


def _error_reason(error: Exception | None) -> str:
    """The error of the model itself, which the exporter wraps in advice on how to report it."""
    while error is not None and isinstance(error.__cause__, Exception):
        error = error.__cause__
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0] if lines else ''}"[:600]
