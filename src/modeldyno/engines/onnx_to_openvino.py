"""ONNX to OpenVINO's own files, with every weight as it was."""

from __future__ import annotations

from pathlib import Path

from modeldyno.engines.conversions import Material


def convert(material: Material, place: Path) -> tuple[str, ...]:
    import openvino

    model = openvino.convert_model(material.target.model)
    # Unless told otherwise it halves the weights (float16), and says nothing.
    openvino.save_model(model, place, compress_to_fp16=False)
    return ()
