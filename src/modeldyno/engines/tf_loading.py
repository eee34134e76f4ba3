"""TensorFlow's files into a session: frozen graphs, SavedModels, Keras models."""

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

SAVED_MODEL = "saved_model.pb"
SERVE, USUAL = "serve", "serving_default"
_PLACEHOLDERS = ("Placeholder", "PlaceholderV2", "PlaceholderWithDefault")
_NO_OUTPUTS = (
    *(*_PLACEHOLDERS, "Const", "NoOp", "VarHandleOp", "VariableV2", "Variable"),
    *("Assert", "Assign", "AssignVariableOp", "Print", "PrintV2"),
)


@dataclass(frozen=True)
class Loaded:
    """A session, and which tensor of its graph each input and output is."""

    session: Any
    inputs: dict[str, str]
    outputs: dict[str, str]
    notes: tuple[str, ...] = ()


def load(tf: Any, target: Target, config: Any) -> Loaded:
    """Raises EngineFailed where it cannot be loaded at all."""
    path = Path(target.model)
    if "outputs" in target.options and target.format != "tf-graph":
        raise BadValue(
            "Outputs can be chosen of a frozen graph alone", fix="Leave out --option outputs"
        )
    session = tf.compat.v1.Session(graph=tf.Graph(), config=config)
    try:
        if target.format == "tf-graph":
            return _graph(tf, session, path, str(target.options.get("outputs", "")))
        if target.format == "keras":
            return _keras(tf, session, path)
        with saved_model_folder(path) as folder:
            return _saved_model(tf, session, folder, target.signature)
    except BaseException:
        session.close()
        raise


# ---------------------------------------------------------------- frozen graphs


def _graph(tf: Any, session: Any, path: Path, wanted: str) -> Loaded:
    definition = tf.compat.v1.GraphDef()
    try:
        definition.ParseFromString(path.read_bytes())
        with session.graph.as_default():
            tf.graph_util.import_graph_def(definition, name="")
    except Exception as error:  # protobuf's, and what importing raises
        raise cannot_load(error) from error
    read_by_others = {
        one.lstrip("^").partition(":")[0] for node in definition.node for one in node.input
    }
    inputs = {n.name: f"{n.name}:0" for n in definition.node if n.op in _PLACEHOLDERS}
    ends = [
        node.name
        for node in definition.node
        if node.name not in read_by_others and node.op not in _NO_OUTPUTS
    ]
    chosen = [one.strip() for one in wanted.split(",") if one.strip()] or ends
    outputs = {one: _tensor(session.graph, one) for one in chosen}
    if not outputs:
        raise EngineFailed(
            "The graph has no output",
            why="every node is read by another one",
            fix="Name some: --option outputs=NAME",
        )
    return Loaded(session, inputs, outputs)


def _tensor(graph: Any, name: str) -> str:
    node = name.partition(":")[0]
    try:
        found = graph.get_operation_by_name(node).outputs
    except KeyError:
        found = ()
    number = name.partition(":")[2] or "0"
    if not number.isdecimal() or int(number) >= len(found):
        raise BadValue(
            f"The graph makes no {name!r}", fix="See `modeldyno inspect` for what it makes"
        )
    return f"{node}:{number}"


# ---------------------------------------------------------------- SavedModels


@contextlib.contextmanager
def saved_model_folder(path: Path) -> Iterator[Path]:
    """A folder as loaders want it: the file may have another name here."""
    if path.name == SAVED_MODEL:
        yield path.parent
        return
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        (folder / SAVED_MODEL).symlink_to(path)
        for name in ("variables", "assets"):
            if (path.parent / name).is_dir():
                (folder / name).symlink_to(path.parent / name)
        yield folder


def _saved_model(tf: Any, session: Any, folder: Path, wanted: str = "") -> Loaded:
    """By the loader of TensorFlow 1, which reads those of both: the newer one wants to rebuild the
    objects that old ones were saved from, and fails.

    ``wanted``: a signature; empty: the usual one.
    """
    loader = tf.compat.v1.saved_model.loader
    try:
        with session.graph.as_default():
            meta = _quietly(lambda: loader.load(session, _tags(folder), str(folder)))
    except Exception as error:  # its own, and what its files raise
        raise cannot_load(error) from error
    names = (wanted,) if wanted else (USUAL, SERVE, *sorted(meta.signature_def))
    name = next((one for one in names if _is_real(meta, one)), None)
    if name is None:
        raise EngineFailed(f"TensorFlow finds no signature {wanted!r} in the model")
    signature = meta.signature_def[name]
    inputs = {key: signature.inputs[key].name for key in sorted(signature.inputs)}
    outputs = {key: signature.outputs[key].name for key in sorted(signature.outputs)}
    return Loaded(session, inputs, outputs)


def _is_real(meta: Any, name: str) -> bool:
    if name not in meta.signature_def or name.startswith("__saved_model_"):
        return False
    signature = meta.signature_def[name]
    infos = (*signature.inputs.values(), *signature.outputs.values())
    return bool(signature.outputs) and all(info.name for info in infos)


def _tags(folder: Path) -> list[str]:
    """Those of the graph that is for use, or of the only one."""
    from tensorflow.core.protobuf import saved_model_pb2

    said = saved_model_pb2.SavedModel.FromString((folder / SAVED_MODEL).read_bytes())
    tags = [list(meta.meta_info_def.tags) for meta in said.meta_graphs]
    return next((one for one in tags if SERVE in one), tags[0])


def _quietly(load: Any) -> Any:
    """Without the advice to use another loader."""
    import logging

    logger = logging.getLogger("tensorflow")
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        return load()
    finally:
        logger.setLevel(before)


# ---------------------------------------------------------------- Keras


def _keras(tf: Any, session: Any, path: Path) -> Loaded:
    exported = _exported(str(path), path.stat().st_mtime_ns)
    loaded = _saved_model(tf, session, exported.folder)
    inputs = {name: loaded.inputs[key] for name, key in exported.inputs.items()}
    outputs = loaded.outputs
    if set(exported.outputs.values()) == set(outputs):
        outputs = {name: outputs[key] for name, key in exported.outputs.items()}
    note = "a Keras model runs as the graph that model.export makes of it"
    return Loaded(session, inputs, outputs, (note,))


@dataclass(frozen=True)
class _Exported:
    folder: Path
    inputs: dict[str, str]  # name of the layer → of the signature's input
    outputs: dict[str, str]  # the same of outputs


@functools.lru_cache(maxsize=4)
def _exported(path: str, changed_ns: int) -> _Exported:
    """As a SavedModel in the scratch folder, once for all sessions of a process."""
    keras = tf_process.keras()
    folder = Path(tempfile.mkdtemp(prefix="keras-"))
    named = folder / "model.keras"  # Keras goes by the name
    named.symlink_to(path)
    try:
        model = keras.saving.load_model(named, compile=False, safe_mode=True)
        model.export(folder / "saved", verbose=False)
    except Exception as error:  # a layer may raise anything
        raise cannot_load(error, "Keras") from error
    inputs = {_layer(one): one.name for one in model.inputs}
    return _Exported(folder / "saved", inputs, _outputs(model))


def _outputs(model: Any) -> dict[str, str]:
    """A map keeps its keys in the signature, anything else is numbered in its order."""
    made = getattr(model, "output", None)
    if not isinstance(made, dict):
        made = {f"output_{number}": one for number, one in enumerate(model.outputs)}
    return {_layer(one): key for key, one in made.items() if hasattr(one, "_keras_history")}


def _layer(tensor: Any) -> str:
    return str(tensor._keras_history.operation.name)


def cannot_load(error: Exception, who: str = "TensorFlow") -> EngineFailed:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return EngineFailed(
        f"{who} could not load the model",
        why=(" ".join(lines) or type(error).__name__)[:600],
        fix="Check its operators with `modeldyno inspect`, or use another engine",
    )
