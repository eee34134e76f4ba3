"""What models are called where people read it."""

import pytest

from modeldyno.core.names import name_of_file, shown_name


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/models/net.onnx", "net.onnx"),
        ("/models/nmp/saved_model.pb", "nmp"),
        ("/saved_model.pb", "saved_model.pb"),
        ("/models/nmp/", "nmp"),
    ],
)
def test_a_file_goes_by_its_name_and_a_saved_model_by_its_folders(path, name):
    assert name_of_file(path) == name


def test_a_name_is_no_path():
    assert shown_name("team/net") == "team/net"
    assert shown_name("/models/nmp/saved_model.pb") == "nmp"
