"""TensorFlow and Keras to LiteRT, with every weight as it was."""

from __future__ import annotations

from pathlib import Path

from modeldyno.engines import tf_process
from modeldyno.engines.conversions import ConversionSource
from modeldyno.engines.tf_frozen import freeze


def convert(source: ConversionSource, place: Path) -> tuple[str, ...]:
    frozen = freeze(source.target)
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
