"""What a model is for, read from the model."""

from pathlib import Path

import onnx
import pytest
from onnx import helper

from modeldyno.core.models import precision_of
from modeldyno.formats.catalog import read
from modeldyno.formats.domains import find_detector_words, guess_purpose
from tests import onnx_models
from tests.onnx_models import FLOAT, INT64, model, saved, value, weight

LIGHT = sorted(Path(onnx.__file__).parent.glob("backend/test/data/light/light_*.onnx"))
FETCHED = Path(__file__).parents[2] / ".cache" / "models"


def told(path):
    purpose = guess_purpose(read(path))
    return purpose.domain.name, purpose.flavour.name, purpose.shape, purpose.is_exact


def convolution(shape=("batch", 3, 32, 32), output="y", name="", op="Conv", extra=()):
    node = helper.make_node(op, ["x", "w"], [output], name=name)
    rank = len(shape)
    kernel = weight("w", 4, 3, *([3] * (rank - 2)))
    return model([node, *extra], [value("x", FLOAT, shape)], [value(output, FLOAT, None)], [kernel])


@pytest.mark.parametrize("path", LIGHT, ids=lambda path: path.stem)
def test_classifiers_that_others_made_are_about_images(path):
    assert told(path) == ("Image Recognition", "", "3,224,224", True)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "purpose"),
    [
        ("magika/model.onnx", ("", "", "2048", True)),
        ("minilm/minilm.onnx", ("Neural Language Processing", "", "", False)),
        ("minilm/minilm.pt2", ("Neural Language Processing", "", "", False)),
        ("rapidocr/PP-OCRv6_det_small.onnx", ("Image Recognition", "", "3,224,224", False)),
        ("rapidocr/PP-OCRv6_rec_small.onnx", ("Image Recognition", "", "3,48,224", False)),
        ("silero-vad/silero_vad.onnx", ("", "", "", False)),
        ("silero-vad/silero_vad_16k_sequence.onnx", ("", "", "", False)),
        ("silero-vad/silero_vad.jit", ("", "", "", False)),
    ],
)
def test_the_purpose_of_each_test_model_is_recognised(name, purpose):
    assert told(FETCHED / name) == purpose


@pytest.mark.parametrize(
    ("made", "purpose"),
    [
        (convolution(), ("Image Recognition", "", "3,32,32", True)),
        (convolution(op="QLinearConv"), ("Image Recognition", "", "3,32,32", True)),
        (convolution(("n", 3, "h", "w")), ("Image Recognition", "", "3,224,224", False)),
        (convolution((1, "h", "w", 3)), ("Image Recognition", "", "224,224,3", False)),
        (convolution(("n", 3, 16000)), ("", "", "3,16000", True)),  # sound
        (convolution(output="detection_boxes:0"), ("Object Detection", "", "3,32,32", True)),
        (convolution(output="class_logits"), ("Image Recognition", "", "3,32,32", True)),
        (convolution(name="classifier/conv"), ("Image Recognition", "", "3,32,32", True)),
        (
            convolution(("n", 3, None, None), "boxes", "ssd_mobilenet/conv"),
            ("Object Detection", "SSD", "3,300,300", False),
        ),
        (convolution(name="yolov5/conv"), ("Object Detection", "Yolo", "3,32,32", True)),
        (onnx_models.linear(), ("", "", "4", True)),
        (onnx_models.embedding(), ("", "", "", False)),
    ],
)
def test_domain_flavour_and_shape_follow_from_names_operators_and_inputs(made, purpose, tmp_path):
    assert told(saved(made, tmp_path / "m.onnx")) == purpose


def test_suppressing_overlaps_makes_a_detector(tmp_path):
    node = helper.make_node("NonMaxSuppression", ["boxes", "scores"], ["selected"])
    made = model(
        [node],
        [value("boxes", FLOAT, [1, 10, 4]), value("scores", FLOAT, [1, 2, 10])],
        [value("selected", INT64, None)],
    )
    found = told(saved(made, tmp_path / "m.onnx"))
    assert found == ("Object Detection", "", "[10,4],[2,10]", True)


def test_text_goes_before_all_else(tmp_path):
    made = model(
        [helper.make_node("Gather", ["table", "input_ids:0"], ["boxes"])],
        [value("input_ids:0", INT64, [1, 128])],
        [value("boxes", FLOAT, None)],
        [weight("table", 50, 8)],
    )
    path = saved(made, tmp_path / "m.onnx")
    assert told(path) == ("Neural Language Processing", "", "128", True)


def test_detector_words_are_whole_words():
    assert find_detector_words(["a/SSDLite/conv", "YOLOv8n"]) == ("ssd", "yolo")
    assert find_detector_words(["passd/conv", "ssdx", "polo"]) == ()


@pytest.mark.parametrize(
    ("dtype", "precision"),
    [("float32", "fp32"), ("float16", "fp16"), ("int8", "int8"), ("float64", "fp32")],
)
def test_the_precision_is_that_of_most_weights(dtype, precision, tmp_path):
    weights = [weight("w", 4, 3, dtype=dtype), weight("b", 3)]
    made = model(
        [helper.make_node("Identity", ["x"], ["y"])],
        [value("x", FLOAT, [1, 4])],
        [value("y", FLOAT, [1, 4])],
        weights,
    )
    assert precision_of(read(saved(made, tmp_path / "m.onnx"))) == precision
