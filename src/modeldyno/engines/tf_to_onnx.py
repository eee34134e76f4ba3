"""TensorFlow and Keras to ONNX."""

from __future__ import annotations

from pathlib import Path

from modeldyno.engines.conversions import Material
from modeldyno.engines.tf_frozen import frozen

OPSET = 17


def convert(material: Material, place: Path) -> tuple[str, ...]:
    found = frozen(material.target)
    import tf2onnx

    ends = (*found.inputs, *found.outputs)
    tf2onnx.convert.from_graph_def(
        found.graph,
        opset=OPSET,
        input_names=[f"{name}:0" for name in found.inputs],
        output_names=[f"{name}:0" for name in found.outputs],
        tensors_to_rename={f"{name}:0": name for name in ends},
        output_path=str(place),
    )
    return ()
