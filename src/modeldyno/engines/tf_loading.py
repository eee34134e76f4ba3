"""Load TensorFlow's files into a session: frozen graphs, SavedModels, Keras models."""

from __future__ import annotations

import contextlib
import functools
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from modeldyno.core.errors import BadValue, EngineFailed
from modeldyno.core.sessions import Target
from modeldyno.engines import tf_process
from modeldyno.engines.session_checks import cannot_load

SAVED_MODEL = "saved_model.pb"
SERVE, DEFAULT_SIGNATURE = "serve", "serving_default"
_PLACEHOLDERS = ("Placeholder", "PlaceholderV2", "PlaceholderWithDefault")
_NEVER_OUTPUTS = (
    *(*_PLACEHOLDERS, "Const", "NoOp", "VarHandleOp", "VariableV2", "Variable"),
    *("Assert", "Assign", "AssignVariableOp", "Print", "PrintV2"),
)


@dataclass(frozen=True)
class LoadedGraph:
    """A session, and the tensor of its graph for each input and output."""

    session: Any
    inputs: dict[str, str]
    outputs: dict[str, str]
    notes: tuple[str, ...] = ()


def load(tf: Any, target: Target, config: Any) -> LoadedGraph:
    """Raises EngineFailed if it cannot be loaded at all."""
    path = Path(target.model)
    if "outputs" in target.options and target.format != "tf-graph":
        raise BadValue(
            "Outputs can be chosen for frozen graphs only", fix="Leave out --option outputs"
        )
    session = tf.compat.v1.Session(graph=tf.Graph(), config=config)
    try:
        if target.format == "tf-graph":
            return _load_graph(tf, session, path, str(target.options.get("outputs", "")))
        if target.format == "keras":
            return _load_keras(tf, session, path)
        with saved_model_folder(path) as folder:
            return _load_saved_model(tf, session, folder, target.signature)
    except BaseException:
        session.close()
        raise


# ---------------------------------------------------------------- frozen graphs


def _load_graph(tf: Any, session: Any, path: Path, chosen_outputs: str) -> LoadedGraph:
    definition = tf.compat.v1.GraphDef()
    try:
        definition.ParseFromString(path.read_bytes())
        with session.graph.as_default():
            tf.graph_util.import_graph_def(definition, name="")
    except Exception as error:  # protobuf and the import raise many kinds
        raise cannot_load("TensorFlow", error) from error
    read_by_others = {
        source.lstrip("^").partition(":")[0] for node in definition.node for source in node.input
    }
    inputs = {n.name: f"{n.name}:0" for n in definition.node if n.op in _PLACEHOLDERS}
    ends = [
        node.name
        for node in definition.node
        if node.name not in read_by_others and node.op not in _NEVER_OUTPUTS
    ]
    names = [name.strip() for name in chosen_outputs.split(",") if name.strip()] or ends
    outputs = {name: _tensor_name(session.graph, name) for name in names}
    if not outputs:
        raise EngineFailed(
            "The graph has no output",
            why="every node is read by another one",
            fix="Name some: --option outputs=NAME",
        )
    return LoadedGraph(session, inputs, outputs)


def _tensor_name(graph: Any, name: str) -> str:
    node = name.partition(":")[0]
    try:
        outputs = graph.get_operation_by_name(node).outputs
    except KeyError:
        outputs = ()
    number = name.partition(":")[2] or "0"
    if not number.isdecimal() or int(number) >= len(outputs):
        raise BadValue(
            f"The graph has no tensor {name!r}", fix="See its nodes with `modeldyno inspect`"
        )
    return f"{node}:{number}"


# ---------------------------------------------------------------- SavedModels


@contextlib.contextmanager
def saved_model_folder(path: Path) -> Iterator[Path]:
    """A folder laid out as loaders expect it, though the file may have another name."""
    if path.name == SAVED_MODEL:
        yield path.parent
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / SAVED_MODEL).symlink_to(path)
        for part in ("variables", "assets"):
            if (path.parent / part).is_dir():
                (folder / part).symlink_to(path.parent / part)
        yield folder


def _load_saved_model(
    tf: Any, session: Any, folder: Path, chosen_signature: str = ""
) -> LoadedGraph:
    """By the loader of TensorFlow 1, which reads models of both versions: the newer loader fails on
    old ones, because it tries to rebuild the objects that they were saved from.

    ``chosen_signature``: empty for the default one.
    """
    loader = tf.compat.v1.saved_model.loader
    try:
        with session.graph.as_default():
            meta = _load_without_warnings(
                lambda: loader.load(session, _read_tags(folder), str(folder))
            )
    except Exception as error:  # the loader raises many kinds
        raise cannot_load("TensorFlow", error) from error
    candidates = (
        (chosen_signature,)
        if chosen_signature
        else (DEFAULT_SIGNATURE, SERVE, *sorted(meta.signature_def))
    )
    name = next((name for name in candidates if _is_callable(meta, name)), None)
    if name is None:
        raise EngineFailed(f"TensorFlow finds no signature {chosen_signature!r} in the model")
    signature = meta.signature_def[name]
    inputs = {key: signature.inputs[key].name for key in sorted(signature.inputs)}
    outputs = {key: signature.outputs[key].name for key in sorted(signature.outputs)}
    return LoadedGraph(session, inputs, outputs)


def _is_callable(meta: Any, name: str) -> bool:
    if name not in meta.signature_def or name.startswith("__saved_model_"):
        return False
    signature = meta.signature_def[name]
    tensors = (*signature.inputs.values(), *signature.outputs.values())
    return bool(signature.outputs) and all(tensor.name for tensor in tensors)


def _read_tags(folder: Path) -> list[str]:
    """The tags of the graph for serving, or of the first one."""
    from tensorflow.core.protobuf import saved_model_pb2

    saved_model = saved_model_pb2.SavedModel.FromString((folder / SAVED_MODEL).read_bytes())
    all_tags = [list(meta.meta_info_def.tags) for meta in saved_model.meta_graphs]
    return next((tags for tags in all_tags if SERVE in tags), all_tags[0])


def _load_without_warnings(load: Any) -> Any:
    """Without its warning to use another loader."""
    import logging

    logger = logging.getLogger("tensorflow")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        return load()
    finally:
        logger.setLevel(level)


# ---------------------------------------------------------------- Keras


def _load_keras(tf: Any, session: Any, path: Path) -> LoadedGraph:
    exported = _export_keras(str(path), path.stat().st_mtime_ns)
    loaded = _load_saved_model(tf, session, exported.folder)
    inputs = {name: loaded.inputs[key] for name, key in exported.inputs.items()}
    outputs = loaded.outputs
    if set(exported.outputs.values()) == set(outputs):
        outputs = {name: outputs[key] for name, key in exported.outputs.items()}
    note = "a Keras model runs as the graph that model.export makes of it"
    return LoadedGraph(session, inputs, outputs, (note,))


@dataclass(frozen=True)
class _ExportedKeras:
    folder: Path
    inputs: dict[str, str]  # the layer's name → the name in the signature
    outputs: dict[str, str]  # likewise


@functools.lru_cache(maxsize=4)
def _export_keras(path: str, changed_ns: int) -> _ExportedKeras:
    """As a SavedModel in the scratch folder, once for all sessions of a process."""
    keras = tf_process.import_keras()
    folder = Path(tempfile.mkdtemp(prefix="keras-"))
    link = folder / "model.keras"  # Keras recognises the format by the suffix
    link.symlink_to(path)
    try:
        model = keras.saving.load_model(link, compile=False, safe_mode=True)
        model.export(folder / "saved", verbose=False)
    except Exception as error:  # a layer may raise anything
        raise cannot_load("Keras", error) from error
    inputs = {_layer_name(tensor): tensor.name for tensor in model.inputs}
    return _ExportedKeras(folder / "saved", inputs, _keras_outputs(model))


def _keras_outputs(model: Any) -> dict[str, str]:
    """A map keeps its keys in the signature, other outputs are numbered in their order."""
    tensors = getattr(model, "output", None)
    if not isinstance(tensors, dict):
        tensors = {f"output_{number}": tensor for number, tensor in enumerate(model.outputs)}
    return {_layer_name(t): key for key, t in tensors.items() if hasattr(t, "_keras_history")}


def _layer_name(tensor: Any) -> str:
    return str(tensor._keras_history.operation.name)
