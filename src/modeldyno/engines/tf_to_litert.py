"""TensorFlow and Keras to LiteRT, with every weight as it was."""

from __future__ import annotations

from pathlib import Path

from modeldyno.engines import tf_process
from modeldyno.engines.conversions import Material
from modeldyno.engines.tf_frozen import frozen


def convert(material: Material, place: Path) -> tuple[str, ...]:
    found = frozen(material.target)
    tf = tf_process.imported()
    wrapped = tf.compat.v1.wrap_function(
        lambda: tf.graph_util.import_graph_def(found.graph, name=""), []
    )
    inputs, outputs = (
        [wrapped.graph.get_tensor_by_name(f"{name}:0") for name in names]
        for names in (found.inputs, found.outputs)
    )
    # Of a function, and not of a session, whose converter fixes an open batch at one.
    function = wrapped.prune(inputs, outputs)
    converter = tf.lite.TFLiteConverter.from_concrete_functions([function], function)
    place.write_bytes(converter.convert())
    return ()
