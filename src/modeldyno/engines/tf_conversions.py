"""TensorFlow and Keras to LiteRT and ONNX, with every weight as it was."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from modeldyno.core.sessions import Target
from modeldyno.engines import tf_loading, tf_process
from modeldyno.engines.conversions import ConversionSource

_OPSET = 17  # of ONNX
_SCOPE = "model"  # of the model's own nodes, so that none clashes with an input or output


def to_litert(source: ConversionSource, place: Path) -> tuple[str, ...]:
    frozen = _freeze_graph(source.target)
    tf = tf_process.import_tensorflow()
    wrapped = tf.compat.v1.wrap_function(
        lambda: tf.graph_util.import_graph_def(frozen.graph, name=""), []
    )
    inputs, outputs = (
        [wrapped.graph.get_tensor_by_name(f"{name}:0") for name in names]
        for names in (frozen.inputs, frozen.outputs)
    )
    # From a function rather than a session, whose converter fixes a dynamic batch size to 1.
    function = wrapped.prune(inputs, outputs)
    converter = tf.lite.TFLiteConverter.from_concrete_functions([function], function)
    place.write_bytes(converter.convert())
    return ()


def to_onnx(source: ConversionSource, place: Path) -> tuple[str, ...]:
    frozen = _freeze_graph(source.target)
    import tf2onnx

    names = (*frozen.inputs, *frozen.outputs)
    tf2onnx.convert.from_graph_def(
        frozen.graph,
        opset=_OPSET,
        input_names=[f"{name}:0" for name in frozen.inputs],
        output_names=[f"{name}:0" for name in frozen.outputs],
        tensors_to_rename={f"{name}:0": name for name in names},
        output_path=str(place),
    )
    return ()


# ---------------------------------------------------------------- frozen graphs


@dataclass(frozen=True)
class FrozenGraph:
    """A graph without variables, with plain names."""

    graph: Any  # a GraphDef
    inputs: tuple[str, ...]  # placeholders, named like the model's inputs
    outputs: tuple[str, ...]


def _freeze_graph(target: Target) -> FrozenGraph:
    """Of any of TensorFlow's formats; raises EngineFailed if the model cannot be loaded."""
    tf_process.apply_settings(target)
    tf = tf_process.import_tensorflow()
    loaded = tf_loading.load(tf, target, tf_process.config(tf, target.threads))
    try:
        graph = loaded.session.graph
        ends = sorted({tensor.partition(":")[0] for tensor in loaded.outputs.values()})
        constant = tf.compat.v1.graph_util.convert_variables_to_constants(
            loaded.session, graph.as_graph_def(), ends
        )
        kinds = {
            name: (graph.get_tensor_by_name(tensor).dtype, graph.get_tensor_by_name(tensor).shape)
            for name, tensor in loaded.inputs.items()
        }
    finally:
        loaded.session.close()
    _remove_stale_shapes(constant)
    with tf.Graph().as_default() as renamed:
        placeholders = {
            name: tf.compat.v1.placeholder(kind, shape, name=_node_name(name))
            for name, (kind, shape) in kinds.items()
        }
        tensors = tf.graph_util.import_graph_def(
            constant,
            input_map={loaded.inputs[name]: placeholders[name] for name in kinds},
            return_elements=list(loaded.outputs.values()),
            name=_SCOPE,
        )
        for name, tensor in zip(loaded.outputs, tensors, strict=True):
            tf.identity(tensor, name=_node_name(name))
    inputs, outputs = (tuple(map(_node_name, names)) for names in (loaded.inputs, loaded.outputs))
    return FrozenGraph(_inline_functions(tf, renamed, outputs), inputs, outputs)


def _inline_functions(tf: Any, graph: Any, outputs: tuple[str, ...]) -> Any:
    """Replaces calls by the bodies of functions, since converters fail on calls."""
    from tensorflow.python.grappler import tf_optimizer  # there is no public API

    with graph.as_default():  # it does not work in eager mode
        meta = tf.compat.v1.train.export_meta_graph(graph=graph)
    meta.collection_def["train_op"].node_list.value.extend(outputs)
    config = tf.compat.v1.ConfigProto()
    rewriting = config.graph_options.rewrite_options
    rewriting.min_graph_nodes = -1  # small graphs, too
    rewriting.optimizers.append("function")
    return tf_optimizer.OptimizeGraph(config, meta)


def _remove_stale_shapes(definition: Any) -> None:
    """These attributes of functions still count variables that have become constants."""
    for function in definition.library.function:
        for name in ("_input_shapes", "api_implements"):
            if name in function.attr:
                del function.attr[name]


def _node_name(name: str) -> str:
    """A valid name for a node."""
    plain = "".join(c if c.isascii() and (c.isalnum() or c in "_.-/") else "_" for c in name)
    return plain if plain[:1].isalnum() and plain != _SCOPE else f"x{plain}"
