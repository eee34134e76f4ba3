"""Keras's own files (.keras): a zip of a description and weights, read without Keras.

The description names classes, which Keras imports and calls. So only those of Keras itself are
let through, and none that is, or reads, somebody's code or files.
"""

from __future__ import annotations

import math
import re
import zipfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from modeldyno.core.domains import telling_words
from modeldyno.core.errors import ModelUnreadable, UnsafeFormat
from modeldyno.core.models import Dim, InputSpec, ModelFacts, TensorSpec
from modeldyno.formats.containers.zip_members import Archive
from modeldyno.formats.digest import sha256
from modeldyno.formats.refusals import shown

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
_CODE = ("Lambda", "__lambda__", "TorchModuleWrapper", "FlaxLayer", "JaxLayer", "TFSMLayer")
_VALUES = (TENSOR, "__tensor__", "__numpy__", "__ellipsis__", "__bytes__", "__slice__")
_MODELS = ("Functional", "Sequential", "Model")
_DEEPEST = 64  # of a description
_MOST_LAYERS = 100_000


def is_keras(names: list[str]) -> bool:
    return CONFIG in names and any(name.startswith("model.weights.") for name in names)


def read(path: Path) -> ModelFacts:
    """Raises ModelUnreadable or UnsafeFormat."""
    archive = Archive(path)
    config = described(path, archive)
    layers = list(every_layer(config))
    learned, notes = _learned(path)
    return ModelFacts(
        path=str(path),
        format="keras",
        framework="tensorflow",
        sha256=sha256(path),
        size_bytes=path.stat().st_size,
        parameters=sum(learned.values()),
        inputs=tuple(_inputs(path, config)),
        outputs=tuple(_outputs(config)),
        producer=f"Keras {_version(archive)}".strip(),
        nodes_by_op=dict(
            Counter(one["class_name"] for one in layers if one["class_name"] != INPUT).most_common()
        ),
        weights_by_dtype=learned,
        notes=notes,
        telling=telling_words(name_of(one) for one in layers),
    )


def described(path: Path, archive: Archive) -> dict[str, Any]:
    """The model's description; raises UnsafeFormat where it would run more than Keras."""
    if WEIGHTS not in archive:
        raise ModelUnreadable(
            f"{shown(path)} keeps its weights in a way that is not supported",
            why=f"it has no {WEIGHTS}",
            fix='Save it with Keras 3: model.save("{name}.keras")'.replace("{name}", path.stem),
        )
    config = archive.json(CONFIG)
    if not isinstance(config, dict):
        raise _damaged(path, "its description is no object")
    _check(path, {k: v for k, v in config.items() if k != "compile_config"}, _DEEPEST)
    if config.get("class_name") not in _MODELS or not isinstance(config.get("config"), dict):
        raise _unsafe(path, f"the model itself is a {str(config.get('class_name'))[:100]!r}")
    if not all(isinstance(one, dict) for one in _listed(config["config"].get("layers"))):
        raise _damaged(path, "a layer in its description is no object")
    return config


def every_layer(config: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Those of models inside it too, without the models themselves."""
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
    listed = _listed(inner.get("layers")) if isinstance(inner, dict) else []
    return [one for one in listed if isinstance(one, dict)]


def name_of(layer: dict[str, Any]) -> str:
    said = layer.get("name") or settings(layer).get("name")
    return said[:256] if isinstance(said, str) else ""


def settings(layer: dict[str, Any]) -> dict[str, Any]:
    found = layer.get("config")
    return found if isinstance(found, dict) else {}


def shape_of(said: Any) -> tuple[Dim, ...] | None:
    if not isinstance(said, list) or not all(one is None or type(one) is int for one in said):
        return None
    return tuple(said)


def dtype_of(said: Any) -> str:
    """A name, or a policy: ``mixed_float16`` computes in float16."""
    if isinstance(said, dict):
        said = settings(said).get("name")
    name = said if isinstance(said, str) else "float32"
    return name.removeprefix("mixed_")[:100]


def ends(said: Any) -> list[tuple[str, int, int]]:
    """``["dense", 0, 0]``, a list or an object of such: layer, call, and number of output."""
    if isinstance(said, dict):
        said = list(said.values())
    if not isinstance(said, list):
        return []
    if len(said) == 3 and isinstance(said[0], str) and type(said[1]) is type(said[2]) is int:
        return [(said[0], said[1], said[2])]
    return [end for one in said[:1000] if isinstance(one, list | dict) for end in ends(one)]


def _inputs(path: Path, config: dict[str, Any]) -> Iterator[InputSpec]:
    inner = config["config"]
    layers = {name_of(one): one for one in layers_of(config)}
    names = [name for name, _, _ in ends(inner.get("input_layers"))]
    if config["class_name"] == "Sequential":
        names = [name for name, one in layers.items() if one.get("class_name") == INPUT][:1]
    if not names:
        built = config.get("build_config")
        shape = shape_of(built.get("input_shape")) if isinstance(built, dict) else None
        if shape is None:
            raise ModelUnreadable(
                f"{shown(path)} does not say what it takes",
                why="the model was saved before it was built",
                fix="Call the model once, or give it an Input, and save it again",
            )
        yield InputSpec("input_layer", "float32", shape)
    for name in names:
        said = settings(layers.get(name, {}))
        shape = shape_of(said.get("batch_shape", said.get("batch_input_shape")))
        yield InputSpec(name, dtype_of(said.get("dtype")), shape)


def _outputs(config: dict[str, Any]) -> Iterator[TensorSpec]:
    layers = {name_of(one): one for one in layers_of(config)}
    names = [name for name, _, _ in ends(config["config"].get("output_layers"))]
    for name in names or list(layers)[-1:]:
        dtype = dtype_of(settings(layers.get(name, {})).get("dtype"))
        yield TensorSpec(name, dtype, None)


def _learned(path: Path) -> tuple[dict[str, int], tuple[str, ...]]:
    """Elements of its weights by type; h5py comes with Keras."""
    try:
        import h5py
    except ImportError:
        return {}, ("its parameters are not counted: that needs the Python package h5py",)
    counts: Counter[str] = Counter()

    def count(name: str, found: Any) -> None:
        if isinstance(found, h5py.Dataset) and not name.startswith("optimizer"):
            counts[str(found.dtype)] += math.prod(found.shape or ())

    try:
        with (
            zipfile.ZipFile(path) as archive,
            archive.open(WEIGHTS) as member,
            h5py.File(member, "r") as weights,
        ):
            weights.visititems(count)
    except (OSError, RuntimeError, ValueError, KeyError, zipfile.BadZipFile) as error:
        raise _damaged(path, f"its weights cannot be read: {str(error)[:200]}") from error
    return dict(counts.most_common()), ()


def _version(archive: Archive) -> str:
    said = archive.json(METADATA) if METADATA in archive else {}
    version = said.get("keras_version") if isinstance(said, dict) else ""
    return version[:50] if isinstance(version, str) else ""


def _listed(said: Any) -> list[Any]:
    return said if isinstance(said, list) else []


# ---------------------------------------------------------------- what it would run


def _check(path: Path, said: Any, deeper: int) -> None:
    if deeper == 0:
        raise _damaged(path, f"its description is nested deeper than {_DEEPEST}")
    if isinstance(said, list):
        for one in said:
            _check(path, one, deeper - 1)
    elif isinstance(said, dict):
        if "class_name" in said:
            _check_class(path, said)
        for one in said.values():
            _check(path, one, deeper - 1)


def _check_class(path: Path, said: dict[str, Any]) -> None:
    name, module = said["class_name"], said.get("module")
    registered = said.get("registered_name")
    if name in _CODE:
        raise _unsafe(path, f"it has a {name} layer, which is code of whoever made it")
    if name in _VALUES and not said.get("module"):
        return
    if not isinstance(name, str) or not _CLASS.fullmatch(name):
        raise _unsafe(path, f"it names a class {str(name)[:100]!r}")
    if registered not in (None, name, f"keras>{name}"):
        raise _unsafe(path, f"it needs the class {str(registered)[:100]!r}, which Keras has not")
    if module is not None and not (isinstance(module, str) and _MODULES.fullmatch(module)):
        raise _unsafe(path, f"it would import {name!r} from {str(module)[:100]!r}")
    if isinstance(settings(said).get("vocabulary"), str):
        raise _unsafe(path, f"its {name} layer reads the file {settings(said)['vocabulary']!r}")


def _unsafe(path: Path, why: str) -> UnsafeFormat:
    return UnsafeFormat(
        f"{shown(path)} is a Keras model that needs more than Keras's own layers",
        why=f"{why}; loading it would run that"[:400],
        fix="Export it where it was made, and measure that: model.export(FOLDER) writes a "
        f'SavedModel, model.export("{path.stem[:100]}.onnx", format="onnx") writes ONNX',
    )


def _damaged(path: Path, why: str) -> ModelUnreadable:
    return ModelUnreadable(
        f"{shown(path)} is damaged", why=why, fix="Copy, download or save it again"
    )
