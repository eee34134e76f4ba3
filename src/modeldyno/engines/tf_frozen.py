"""TensorFlow's three formats as one thing: a graph without variables, with plain names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from modeldyno.core.sessions import Target
from modeldyno.engines import tf_loading, tf_process

_INSIDE = "model"  # where the model's own nodes are, so that none has the name of an end


@dataclass(frozen=True)
class Frozen:
    graph: Any  # a GraphDef
    inputs: tuple[str, ...]  # placeholders, called as the model calls its inputs
    outputs: tuple[str, ...]


def frozen(target: Target) -> Frozen:
    """As the engine loads it; raises EngineFailed where it cannot."""
    tf_process.settle(target)
    tf = tf_process.imported()
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
    _forget_shapes(constant)
    with tf.Graph().as_default() as renamed:
        placeholders = {
            name: tf.compat.v1.placeholder(kind, shape, name=_node(name))
            for name, (kind, shape) in kinds.items()
        }
        found = tf.graph_util.import_graph_def(
            constant,
            input_map={loaded.inputs[name]: placeholders[name] for name in kinds},
            return_elements=list(loaded.outputs.values()),
            name=_INSIDE,
        )
        for name, tensor in zip(loaded.outputs, found, strict=True):
            tf.identity(tensor, name=_node(name))
    inputs, outputs = (tuple(map(_node, names)) for names in (loaded.inputs, loaded.outputs))
    return Frozen(_inlined(tf, renamed, outputs), inputs, outputs)


def _inlined(tf: Any, graph: Any, outputs: tuple[str, ...]) -> Any:
    """With the bodies of functions in place of calls: converters get lost among those."""
    from tensorflow.python.grappler import tf_optimizer  # there is no public way

    with graph.as_default():  # it works in graphs alone
        meta = tf.compat.v1.train.export_meta_graph(graph=graph)
    meta.collection_def["train_op"].node_list.value.extend(outputs)
    asked = tf.compat.v1.ConfigProto()
    rewriting = asked.graph_options.rewrite_options
    rewriting.min_graph_nodes = -1  # small ones, too
    rewriting.optimizers.append("function")
    return tf_optimizer.OptimizeGraph(asked, meta)


def _forget_shapes(definition: Any) -> None:
    """Functions say how many arguments they had before their variables became constants."""
    for function in definition.library.function:
        for name in ("_input_shapes", "api_implements"):
            if name in function.attr:
                del function.attr[name]


def _node(name: str) -> str:
    """As a node may be called."""
    plain = "".join(c if c.isascii() and (c.isalnum() or c in "_.-/") else "_" for c in name)
    return plain if plain[:1].isalnum() and plain != _INSIDE else f"x{plain}"
