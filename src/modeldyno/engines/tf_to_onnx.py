"""TensorFlow and Keras to ONNX."""

from __future__ import annotations

from pathlib import Path

from modeldyno.engines.conversions import ConversionSource
from modeldyno.engines.tf_frozen import freeze

OPSET = 17


def convert(source: ConversionSource, place: Path) -> tuple[str, ...]:
    frozen = freeze(source.target)
    import tf2onnx

    names = (*frozen.inputs, *frozen.outputs)
    tf2onnx.convert.from_graph_def(
        frozen.graph,
        opset=OPSET,
        input_names=[f"{name}:0" for name in frozen.inputs],
        output_names=[f"{name}:0" for name in frozen.outputs],
        tensors_to_rename={f"{name}:0": name for name in names},
        output_path=str(place),
    )
    return ()
