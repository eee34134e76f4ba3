"""A file is what its content says; what we cannot read gets a message that helps."""

import io
import json
import os
import pickle
import struct
import tarfile
import zipfile

import numpy as np
import pytest
from onnx import helper, numpy_helper

from modeldyno.core.errors import ModelNotFound, ModelUnreadable, UnsafeFormat, UserError
from modeldyno.formats.recognise import recognise
from tests.onnx_models import linear, saved


def refusal(path):
    with pytest.raises(UserError) as caught:
        recognise(path)
    return caught.value


def zip_of(*names):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name in names:
            archive.writestr(name, b"content")
    return buffer.getvalue()


def npz():
    buffer = io.BytesIO()
    np.savez(buffer, x=np.zeros(3))
    return buffer.getvalue()


def tar():
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("model.onnx"))
    return buffer.getvalue()


def safetensors():
    header = b'{"w": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}'
    return struct.pack("<Q", len(header)) + header + bytes(4)


def protobuf(number, payload):
    """One length-delimited field."""
    return bytes([number << 3 | 2, len(payload)]) + payload


# What the file holds, the error, words of its title, words of its advice.
OTHERS = {
    "empty": (b"", ModelUnreadable, "is empty", "again"),
    "zeros": (bytes(5000), ModelUnreadable, "all zero", "again"),
    "a web page": (b"\n<!DOCTYPE html><p>Sign in", ModelUnreadable, "a web page", "/resolve/"),
    "JSON": (b'{"layers": []}', ModelUnreadable, "a JSON file", "ONNX"),
    "a Git LFS pointer": (
        b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n",
        ModelUnreadable,
        "a Git LFS pointer",
        "`git lfs pull`",
    ),
    "settings": (b"[section]\nkey = 1\n", ModelUnreadable, "a text file", "ONNX"),
    "prose": ("schön".encode() * 2000, ModelUnreadable, "a text file", "ONNX"),
    "ONNX as text": (b"ir_version: 8\n", ModelUnreadable, "written as text", "textproto"),
    "XML": (b"<?xml version='1.0'?><a/>", ModelUnreadable, "an XML file", "ONNX"),
    "pickle 2": (pickle.dumps({}, 2), UnsafeFormat, "a Python pickle", "torch.onnx.export"),
    "pickle 5": (pickle.dumps({}, 5), UnsafeFormat, "a Python pickle", "torch.onnx.export"),
    "npz": (npz(), ModelUnreadable, "a NumPy archive", "--data"),
    "zipped ONNX": (zip_of("m/net.onnx"), ModelUnreadable, "a zip archive", "give m/net.onnx"),
    "zip": (zip_of("readme"), ModelUnreadable, "a zip archive", "Unpack it"),
    "half a zip": (zip_of("a", "b")[:40], ModelUnreadable, "damaged zip archive", "again"),
    "gzip": (b"\x1f\x8b\x08\x00", ModelUnreadable, "a gzip archive", "Unpack it"),
    "tar": (tar(), ModelUnreadable, "a tar archive", "Unpack it"),
    "7z": (b"7z\xbc\xaf\x27\x1c\x00\x04", ModelUnreadable, "a 7z archive", "Unpack it"),
    "xz": (b"\xfd7zXZ\x00\x00\x04", ModelUnreadable, "an xz archive", "Unpack it"),
    "zstd": (b"\x28\xb5\x2f\xfd\x04", ModelUnreadable, "a zstd archive", "Unpack it"),
    "HDF5": (b"\x89HDF\r\n\x1a\n\x00", UnsafeFormat, "an HDF5 file", '.save("net.keras")'),
    "ORT format": (b"\x1c\x00\x00\x00ORTM\x00", ModelUnreadable, "own ORT format", "made from"),
    "GGUF": (b"GGUF\x03\x00\x00\x00", ModelUnreadable, "a GGUF file", "optimum-cli"),
    "safetensors": (safetensors(), ModelUnreadable, "a safetensors file", "torch.onnx.export"),
    "npy": (b"\x93NUMPY\x01\x00", ModelUnreadable, "a NumPy array", "ONNX"),
    "ELF": (b"\x7fELF\x02\x01\x01\x00", ModelUnreadable, "shared library", "model"),
    "other protobuf": (protobuf(3, b"abc\x00") * 2, ModelUnreadable, "protobuf, but not", "ONNX"),
    "noise": (bytes(range(255, 0, -1)), ModelUnreadable, "not a model in any format", "ONNX"),
}


@pytest.mark.parametrize("case", OTHERS.values(), ids=OTHERS.keys())
def test_every_other_file_gets_a_message_of_its_own(tmp_path, case):
    content, kind, title, fix = case
    path = tmp_path / "net.onnx"
    path.write_bytes(content)
    error = refusal(path)
    assert type(error) is kind
    assert title in error.title
    assert fix in error.fix
    assert error.why
    assert str(tmp_path) not in str(error)


def test_an_onnx_file_is_recognised_whatever_its_name(tmp_path):
    assert recognise(saved(linear(), tmp_path / "net.txt")) == "onnx"


def test_a_scripted_model_is_recognised_whatever_its_name(tmp_path):
    path = tmp_path / "net.onnx"
    path.write_text(json.dumps({"modeldyno": "scripted/1", "latency_us": 5}))
    assert recognise(path) == "scripted"


def test_a_truncated_model_says_how_much_is_missing(tmp_path):
    whole = linear()
    content = whole.SerializeToString()
    graph = len(whole.graph.SerializeToString())
    (path := tmp_path / "net.onnx").write_bytes(content[:100])
    start = content.index(whole.graph.SerializeToString())
    error = refusal(path)
    assert error.title == (
        f"net.onnx is truncated: the graph says {graph} bytes, the file has {100 - start} of them"
    )
    assert error.fix == "Copy, download or export it again"


def test_no_truncated_model_passes_for_a_whole_one(tmp_path):
    content = linear().SerializeToString()
    path = tmp_path / "net.onnx"
    for length in range(1, len(content)):
        path.write_bytes(content[:length])
        assert isinstance(refusal(path), ModelUnreadable), length


def test_a_model_cut_exactly_between_two_fields_is_truncated(tmp_path):
    whole = linear()
    del whole.opset_import[:]
    assert refusal(saved(whole, tmp_path / "net.onnx")).title == (
        "net.onnx is truncated: it ends before its opset list"
    )
    whole.ClearField("graph")
    assert refusal(saved(whole, tmp_path / "net.onnx")).title == (
        "net.onnx is truncated: it ends before its graph"
    )


def test_a_model_with_rubbish_behind_it_is_damaged(tmp_path):
    path = saved(linear(), tmp_path / "net.onnx")
    size = path.stat().st_size
    path.write_bytes(path.read_bytes() + b"\x00\x00")
    error = refusal(path)
    assert error.title == "net.onnx is a damaged ONNX model"
    assert error.why == f"from byte {size} of {size + 2} on it is invalid"


def test_a_field_of_a_future_onnx_version_does_not_hurt(tmp_path):
    path = saved(linear(), tmp_path / "net.onnx")
    path.write_bytes(path.read_bytes() + b"\xfa\x01\x02hi")  # field 31
    assert recognise(path) == "onnx"


def test_a_tensor_file_is_not_taken_for_a_model(tmp_path):
    path = tmp_path / "input_0.pb"
    tensor = numpy_helper.from_array(np.zeros((2, 2), dtype="float32"), "x")
    path.write_bytes(tensor.SerializeToString())
    assert "one tensor in ONNX's format" in refusal(path).title


def test_a_large_graph_is_not_read(tmp_path):
    """A sparse file of 8 GiB with a graph of almost that size: only its header is looked at."""
    made = helper.make_model(helper.make_graph([], "g", [], []), ir_version=8)
    head = b"\x08\x08" + bytes([7 << 3 | 2, 0xF0, 0xFF, 0xFF, 0xFF, 0x1F])
    opset = protobuf(8, made.opset_import[0].SerializeToString())
    path = tmp_path / "net.onnx"
    with path.open("wb") as file:
        file.write(head)
        file.seek(0x1FFFFFFF0, os.SEEK_CUR)
        file.write(opset)
    assert recognise(path) == "onnx"


def test_a_missing_file_is_not_found_and_a_similar_name_is_offered(tmp_path):
    saved(linear(), tmp_path / "glyphs.onnx")
    error = refusal(tmp_path / "glyph.onnx")
    assert isinstance(error, ModelNotFound)
    assert error.title == f'No model or file named "{tmp_path}/glyph.onnx"'
    assert error.fix == f"Did you mean {tmp_path}/glyphs.onnx"


def test_a_link_to_nothing_is_not_found(tmp_path):
    (tmp_path / "net.onnx").symlink_to("gone.onnx")
    error = refusal(tmp_path / "net.onnx")
    assert isinstance(error, ModelNotFound)
    assert "gone.onnx" in error.why


def test_a_folder_names_the_model_inside(tmp_path):
    saved(linear(), tmp_path / "net.onnx")
    assert refusal(tmp_path).fix == f"Give the ONNX file itself: {tmp_path}/net.onnx"


def test_the_folder_of_a_saved_model_names_the_file_in_it(tmp_path):
    (folder := tmp_path / "net").mkdir()
    (folder / "saved_model.pb").write_bytes(b"\x08\x01")
    assert refusal(folder).fix == "Give the file in it: net/saved_model.pb"


def test_a_pipe_is_refused_without_waiting_for_it(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    assert "neither a file nor a folder" in refusal(tmp_path / "pipe").title


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_forbidden_file_says_so(tmp_path):
    path = saved(linear(), tmp_path / "net.onnx")
    path.chmod(0)
    assert refusal(path).why == "permission denied"


def test_a_name_cannot_play_tricks_on_the_terminal(tmp_path):
    path = tmp_path / "\x1b[2Jnet.pt"
    path.write_bytes(pickle.dumps({}))
    assert "\x1b" not in str(refusal(path))
