"""ONNX to OpenVINO's own files, with every weight as it was."""

from __future__ import annotations

from pathlib import Path

from modeldyno.engines.conversions import ConversionSource


def convert(source: ConversionSource, place: Path) -> tuple[str, ...]:
    import openvino

    model = openvino.convert_model(source.target.model)
    # By default it silently halves the weights to float16.
    openvino.save_model(model, place, compress_to_fp16=False)
    return ()
