"""What to offer when a file is not there."""

import pytest

from modeldyno.core.names import find_similar_names


@pytest.mark.parametrize(
    ("name", "there"),
    [
        ("glyph.onnx", "glyphs.onnx"),
        ("fest.json", "fast.json"),
        ("Model.onnx", "model.onnx"),
        ("model.onx", "model.onnx"),
        ("model", "model.onnx"),
        ("reset50.onnx", "resnet50.onnx"),
    ],
)
def test_a_typing_mistake_is_answered(name, there):
    assert find_similar_names(name, ["other.onnx", there, "readme.md"]) == [there]


@pytest.mark.parametrize(
    ("name", "there"),
    [
        ("nope.onnx", "text.onnx"),
        ("n.onnx", "m.onnx"),
        ("net.onnx", "notes.txt"),
        ("net.pt", "nest.onnx"),
    ],
)
def test_another_file_is_not_offered(name, there):
    assert find_similar_names(name, [there]) == []


def test_the_closest_name_comes_first_then_those_with_the_same_suffix():
    there = ["net2.onnx", "nett.pt", "nets.onnx", "net.pt"]
    assert find_similar_names("net.onnx", there, most=3) == ["net2.onnx", "nets.onnx", "net.pt"]
