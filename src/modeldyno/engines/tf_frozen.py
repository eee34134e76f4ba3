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
        return Frozen(
            renamed.as_graph_def(),
            tuple(map(_node, loaded.inputs)),
            tuple(map(_node, loaded.outputs)),
        )


def _node(name: str) -> str:
    """As a node may be called."""
    plain = "".join(c if c.isascii() and (c.isalnum() or c in "_.-/") else "_" for c in name)
    return plain if plain[:1].isalnum() and plain != _INSIDE else f"x{plain}"
