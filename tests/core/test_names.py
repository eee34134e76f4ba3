"""What models are called where people read it."""

import pytest

from modeldyno.core.names import name_of_file, shown_name, without_private_copies


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


def test_an_error_names_the_file_and_not_the_copy_that_a_run_made_of_it():
    copy = "/home/ann/.modeldyno/runs/20261115-095116-3fa9c1/model/net.onnx"
    text = f"Load model from {copy} failed: '{copy}' is broken, see /etc/hosts"
    assert without_private_copies(text) == (
        "Load model from net.onnx failed: 'net.onnx' is broken, see /etc/hosts"
    )
