"""Keras's own files (.keras): a zip of a description and weights, read without Keras.

The description names classes, which Keras imports and calls. So we accept only Keras's own classes,
and none that contain code or read files.
"""

from __future__ import annotations

import math
import re
import zipfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from modeldyno.core.errors import ModelUnreadable, UnsafeFormat
from modeldyno.core.models import Dim, InputSpec, ModelFacts, TensorSpec
from modeldyno.formats.containers.zip_members import ModelArchive
from modeldyno.formats.model_facts import make_model_facts
from modeldyno.formats.refusals import damaged_file_error, printable_name

CONFIG, WEIGHTS, METADATA = "config.json", "model.weights.h5", "metadata.json"
INPUT = "InputLayer"
TENSOR = "__keras_tensor__"
# Where the classes of a model may come from. keras.utils is not among them: it downloads files.
_MODULES = re.compile(
    r"keras(\.(layers|models|initializers|regularizers|constraints|activations|random"
    r"|dtype_policies|quantizers|ops)(\.\w+)*"
    r"|\.src\.(models\.(functional|sequential)|ops\.\w+|layers(\.\w+)*|dtype_policies\.\w+))?"
)
_CLASS = re.compile(r"[A-Za-z]\w{0,99}")
_CLASSES_WITH_CODE = (
    "Lambda",
    "__lambda__",
    "TorchModuleWrapper",
    "FlaxLayer",
    "JaxLayer",
    "TFSMLayer",
)
_VALUE_CLASSES = (TENSOR, "__tensor__", "__numpy__", "__ellipsis__", "__bytes__", "__slice__")
_MODELS = ("Functional", "Sequential", "Model")
_DEEPEST = 64  # of a description
_MOST_LAYERS = 100_000


def is_keras(names: list[str]) -> bool:
    return CONFIG in names and any(name.startswith("model.weights.") for name in names)


def read(path: Path) -> ModelFacts:
    """Raises ModelUnreadable or UnsafeFormat."""
    archive = ModelArchive(path)
    config = read_description(path, archive)
    layers = list(walk_layers(config))
    weights, notes = _count_weights(path)
    return make_model_facts(
        path,
        "keras",
        "tensorflow",
        inputs=_read_inputs(path, config),
        outputs=_read_outputs(config),
        weights=weights,
        operators=(layer["class_name"] for layer in layers if layer["class_name"] != INPUT),
        names=map(name_of, layers),
        producer=f"Keras {_read_keras_version(archive)}".strip(),
        notes=notes,
    )


def read_description(path: Path, archive: ModelArchive) -> dict[str, Any]:
    """The model's description; raises UnsafeFormat if loading it would run foreign code."""
    if WEIGHTS not in archive:
        raise ModelUnreadable(
            f"{printable_name(path)} keeps its weights in a way that is not supported",
            why=f"it has no {WEIGHTS}",
            fix='Save it with Keras 3: model.save("{name}.keras")'.replace("{name}", path.stem),
        )
    config = archive.json(CONFIG)
    if not isinstance(config, dict):
        raise _damaged_error(path, "its description is not an object")
    _require_only_keras(path, {k: v for k, v in config.items() if k != "compile_config"}, _DEEPEST)
    if config.get("class_name") not in _MODELS or not isinstance(config.get("config"), dict):
        raise _unsafe_error(path, f"the model itself is a {str(config.get('class_name'))[:100]!r}")
    if not all(isinstance(layer, dict) for layer in _to_layer_list(config["config"].get("layers"))):
        raise _damaged_error(path, "a layer in its description is not an object")
    return config


def walk_layers(config: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """All layers, including those of nested models, but not nested models themselves."""
    waiting = [config]
    count = 0
    while waiting:
        for layer in layers_of(waiting.pop()):
            count += 1
            if count > _MOST_LAYERS:
                return
            if layer.get("class_name") in _MODELS:
                waiting.append(layer)
            elif isinstance(layer.get("class_name"), str):
                yield layer


def layers_of(model: dict[str, Any]) -> list[dict[str, Any]]:
    inner = model.get("config")
    listed = _to_layer_list(inner.get("layers")) if isinstance(inner, dict) else []
    return [layer for layer in listed if isinstance(layer, dict)]


def is_input(layer: dict[str, Any]) -> bool:
    return layer.get("class_name") == INPUT


def name_of(layer: dict[str, Any]) -> str:
    name = layer.get("name") or layer_config(layer).get("name")
    return name[:256] if isinstance(name, str) else ""


def layer_config(layer: dict[str, Any]) -> dict[str, Any]:
    config = layer.get("config")
    return config if isinstance(config, dict) else {}


def shape_of(sizes: Any) -> tuple[Dim, ...] | None:
    if not isinstance(sizes, list) or not all(n is None or type(n) is int for n in sizes):
        return None
    return tuple(sizes)


def dtype_of(policy: Any) -> str:
    """From a name or a policy: ``mixed_float16`` computes in float16."""
    if isinstance(policy, dict):
        policy = layer_config(policy).get("name")
    name = policy if isinstance(policy, str) else "float32"
    return name.removeprefix("mixed_")[:100]


def find_sources(history: Any) -> list[tuple[str, int, int]]:
    """From ``["dense", 0, 0]`` (layer, call, number of the output), or nested lists of these."""
    if isinstance(history, dict):
        history = list(history.values())
    if not isinstance(history, list):
        return []
    match history:
        case [str(layer), int(call), int(output)] if type(call) is type(output) is int:
            return [(layer, call, output)]
    return [
        end
        for each in history[:1000]
        if isinstance(each, list | dict)
        for end in find_sources(each)
    ]


def output_shape_of(layer: dict[str, Any]) -> tuple[Dim, ...] | None:
    """The input shape that the layer was built for."""
    config = layer.get("build_config")
    return shape_of(config.get("input_shape")) if isinstance(config, dict) else None


def _read_inputs(path: Path, config: dict[str, Any]) -> Iterator[InputSpec]:
    inner = config["config"]
    layers = {name_of(layer): layer for layer in layers_of(config)}
    names = [name for name, _, _ in find_sources(inner.get("input_layers"))]
    if config["class_name"] == "Sequential":
        names = [name for name, layer in layers.items() if is_input(layer)][:1]
    if not names:
        shape = output_shape_of(config)
        if shape is None:
            raise ModelUnreadable(
                f"{printable_name(path)} does not declare its inputs",
                why="the model was saved before it was built",
                fix="Call the model once, or give it an Input, and save it again",
            )
        yield InputSpec("input_layer", "float32", shape)
    for name in names:
        declared = layer_config(layers.get(name, {}))
        shape = shape_of(declared.get("batch_shape", declared.get("batch_input_shape")))
        yield InputSpec(name, dtype_of(declared.get("dtype")), shape)


def _read_outputs(config: dict[str, Any]) -> Iterator[TensorSpec]:
    layers = {name_of(layer): layer for layer in layers_of(config)}
    names = [name for name, _, _ in find_sources(config["config"].get("output_layers"))]
    for name in names or list(layers)[-1:]:
        dtype = dtype_of(layer_config(layers.get(name, {})).get("dtype"))
        yield TensorSpec(name, dtype, None)


def _count_weights(path: Path) -> tuple[dict[str, int], tuple[str, ...]]:
    """Elements by dtype, and notes. h5py comes with Keras."""
    try:
        import h5py
    except ImportError:
        return {}, ("its parameters are not counted: that needs the Python package h5py",)
    counts: Counter[str] = Counter()

    def count(name: str, entry: Any) -> None:
        if isinstance(entry, h5py.Dataset) and not name.startswith("optimizer"):
            counts[str(entry.dtype)] += math.prod(entry.shape or ())

    try:
        with (
            zipfile.ZipFile(path) as archive,
            archive.open(WEIGHTS) as member,
            h5py.File(member, "r") as weights,
        ):
            weights.visititems(count)
    except (OSError, RuntimeError, ValueError, KeyError, zipfile.BadZipFile) as error:
        raise _damaged_error(path, f"its weights cannot be read: {str(error)[:200]}") from error
    return dict(counts.most_common()), ()


def _read_keras_version(archive: ModelArchive) -> str:
    metadata = archive.json(METADATA) if METADATA in archive else {}
    version = metadata.get("keras_version") if isinstance(metadata, dict) else ""
    return version[:50] if isinstance(version, str) else ""


def _to_layer_list(layers: Any) -> list[Any]:
    return layers if isinstance(layers, list) else []


# ---------------------------------------------------------------- foreign code


def _require_only_keras(path: Path, description: Any, deeper: int) -> None:
    if deeper == 0:
        raise _damaged_error(path, f"its description is nested deeper than {_DEEPEST}")
    if isinstance(description, dict) and "class_name" in description:
        _require_keras_class(path, description)
    inner = description.values() if isinstance(description, dict) else description
    for each in inner if isinstance(description, dict | list) else ():
        _require_only_keras(path, each, deeper - 1)


def _require_keras_class(path: Path, layer: dict[str, Any]) -> None:
    name, module = layer["class_name"], layer.get("module")
    registered = layer.get("registered_name")
    if name in _CLASSES_WITH_CODE:
        raise _unsafe_error(path, f"it has a {name} layer, which is code of its author")
    if name in _VALUE_CLASSES and not module:
        return
    if not isinstance(name, str) or not _CLASS.fullmatch(name):
        raise _unsafe_error(path, f"it names a class {str(name)[:100]!r}")
    if registered not in (None, name, f"keras>{name}"):
        raise _unsafe_error(
            path, f"it needs the class {str(registered)[:100]!r}, which Keras lacks"
        )
    if module is not None and not (isinstance(module, str) and _MODULES.fullmatch(module)):
        raise _unsafe_error(path, f"it would import {name!r} from {str(module)[:100]!r}")
    vocabulary = layer_config(layer).get("vocabulary")
    if isinstance(vocabulary, str):
        raise _unsafe_error(path, f"its {name} layer reads the file {vocabulary!r}")


def _unsafe_error(path: Path, why: str) -> UnsafeFormat:
    return UnsafeFormat(
        f"{printable_name(path)} is a Keras model that needs more than Keras's own layers",
        why=f"{why}; loading it would run that"[:400],
        fix="Export it where it was made, and measure that: model.export(FOLDER) writes a "
        f'SavedModel, model.export("{path.stem[:100]}.onnx", format="onnx") writes ONNX',
    )


def _damaged_error(path: Path, why: str) -> ModelUnreadable:
    return damaged_file_error(path, why, fix="Copy, download or save it again")
