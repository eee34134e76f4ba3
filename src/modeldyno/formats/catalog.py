"""Every format we can read."""

from __future__ import annotations

from pathlib import Path
from typing import assert_never

from modeldyno.core.errors import GraphUnavailable
from modeldyno.core.graphs import Graph
from modeldyno.core.models import FORMATS, ModelFacts, ModelFormat
from modeldyno.formats import scripted, sidecar
from modeldyno.formats.keras import graph as keras_graph
from modeldyno.formats.keras import model as keras_model
from modeldyno.formats.litert import graph as litert_graph
from modeldyno.formats.litert import model as litert_model
from modeldyno.formats.onnx import graph as onnx_graph
from modeldyno.formats.onnx import model as onnx_model
from modeldyno.formats.openvino import graph as openvino_graph
from modeldyno.formats.openvino import model as openvino_model
from modeldyno.formats.pytorch import graph as pytorch_graph
from modeldyno.formats.pytorch import model as pytorch_model
from modeldyno.formats.recognise import recognise
from modeldyno.formats.refusals import printable_name
from modeldyno.formats.tensorflow import frozen_graph, saved_model
from modeldyno.formats.tensorflow import graph as tensorflow_graph
from modeldyno.inputs.model_overrides import no_signatures_error


def read(path: Path, without_weights: bool = False, signature: str = "") -> ModelFacts:
    """The facts of a model file.

    Raises ModelNotFound, ModelUnreadable or UnsafeFormat; BadValue for an unknown ``signature``.

    ``without_weights``: absent weights files are listed as missing, not refused.
    """
    return sidecar.add_making_note(_read_with_format(path, without_weights, signature))


def _read_with_format(path: Path, without_weights: bool, signature: str) -> ModelFacts:
    match _recognise_format(path, signature):
        case "onnx":
            return onnx_model.read(path, without_weights)
        case "scripted":
            return scripted.read(path)
        case "torchscript":
            return pytorch_model.read_script(path)
        case "torch-export":
            return pytorch_model.read_export(path)
        case "torch-checkpoint":
            return pytorch_model.read_checkpoint(path)
        case "openvino-ir":
            return openvino_model.read(path, without_weights)
        case "tf-graph":
            return frozen_graph.read(path)
        case "saved-model":
            return saved_model.read(path, without_weights, signature)
        case "keras":
            return keras_model.read(path)
        case "litert":
            return litert_model.read(path)
        case unreachable:
            assert_never(unreachable)


def read_graph(path: Path, infer_shapes: bool = True, signature: str = "") -> Graph:
    """A model's graph; raises as ``read`` does, and GraphUnavailable if it has none."""
    match _recognise_format(path, signature):
        case "onnx":
            return onnx_graph.read_graph(path, infer_shapes)
        case "torch-export":
            return pytorch_graph.read_graph(path)
        case "openvino-ir":
            return openvino_graph.read_graph(path)
        case "tf-graph":
            return tensorflow_graph.read_graph(path)
        case "saved-model":
            return tensorflow_graph.read_saved_model(path, signature)
        case "keras":
            return keras_graph.read_graph(path)
        case "litert":
            return litert_graph.read_graph(path)
        case "torchscript" | "torch-checkpoint" | "scripted" as model_format:
            raise GraphUnavailable(
                f"There is no graph to show for {printable_name(path)}",
                why=f"it {FORMATS[model_format].no_graph}; graphs are read from ONNX files, "
                "torch.export programs (.pt2), OpenVINO IR, LiteRT and TensorFlow's files",
                fix="Export the model to ONNX, or with torch.export.save, and look at that file",
            )
        case unreachable:
            assert_never(unreachable)


def _recognise_format(path: Path, signature: str) -> ModelFormat:
    model_format = recognise(path)
    if signature and model_format != saved_model.FORMAT:
        raise no_signatures_error(printable_name(path), model_format)
    return model_format
