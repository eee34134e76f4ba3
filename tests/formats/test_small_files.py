"""What lies beside a model is read only where it is a regular file, and a short one."""

import os

import pytest

import modeldyno
from modeldyno.core.errors import BadValue, ModelUnreadable
from modeldyno.formats import sidecar
from modeldyno.formats.file_reading import read_small
from modeldyno.store.configs import read_config
from tests import onnx_models


def _pipe(path):
    os.mkfifo(path)


def _zeros(path):
    path.symlink_to("/dev/zero")


def _folder(path):
    path.mkdir()


def _long(path):
    with path.open("wb") as file:
        file.truncate(1 << 40)  # sparse


WRONG = {
    "a pipe": (_pipe, "not a regular file"),
    "a device": (_zeros, "not a regular file"),
    "a folder": (_folder, "not a regular file"),
    "a terabyte": (_long, "too long"),
}


@pytest.mark.parametrize(("make", "why"), WRONG.values(), ids=WRONG.keys())
def test_a_file_that_could_be_read_for_ever_is_refused_at_once(make, why, tmp_path):
    make(tmp_path / "file")
    with pytest.raises(OSError, match=why):
        read_small(tmp_path / "file")
    with pytest.raises(BadValue, match=why):
        read_config(tmp_path / "file")


def test_a_link_to_a_regular_file_is_followed(tmp_path):
    (tmp_path / "file").write_bytes(b"x")
    (tmp_path / "link").symlink_to("file")
    assert read_small(tmp_path / "link") == b"x"


def test_exactly_as_much_as_allowed_is_read(tmp_path):
    (tmp_path / "file").write_bytes(b"x" * 9)
    assert read_small(tmp_path / "file", 9) == b"x" * 9
    with pytest.raises(OSError, match="too long"):
        read_small(tmp_path / "file", 8)


@pytest.mark.usefixtures("starts_processes")
@pytest.mark.parametrize(("make", "why"), WRONG.values(), ids=WRONG.keys())
def test_a_sidecar_that_is_not_a_short_regular_file_is_refused(make, why, tmp_path):
    path = onnx_models.saved(onnx_models.linear(), tmp_path / "net.onnx")
    make(tmp_path / f"net.onnx{sidecar.SUFFIX}")
    with pytest.raises(ModelUnreadable, match=why) as caught:
        modeldyno.inspect(path, timeout=30)
    assert caught.value.title == "net.onnx.modeldyno.toml cannot be read"
    assert "remove it" in caught.value.fix
