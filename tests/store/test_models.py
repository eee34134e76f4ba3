"""The private copy of a model: the same bytes, read-only, and any change is noticed."""

import stat
from dataclasses import replace

import pytest

from modeldyno.core.errors import ModelChanged, ModelNotFound, StorageFailed
from modeldyno.core.models import ExternalFile, ModelFacts
from modeldyno.store.models import check_unchanged, copy_privately, hash_file


@pytest.fixture
def model(tmp_path):
    """A model with a file of weights beside it, in a folder of its own."""
    (tmp_path / "weights").mkdir()
    (tmp_path / "m.onnx").write_bytes(b"graph" * 1000)
    (tmp_path / "weights" / "w.bin").write_bytes(bytes(range(256)) * 1000)
    return ModelFacts(
        path=str(tmp_path / "m.onnx"),
        format="onnx",
        framework="onnx",
        sha256=hash_file(tmp_path / "m.onnx"),
        size_bytes=261_000,
        parameters=64_000,
        inputs=(),
        outputs=(),
        external=(
            ExternalFile("weights/w.bin", 256_000, hash_file(tmp_path / "weights" / "w.bin")),
        ),
    )


@pytest.fixture
def place(tmp_path):
    return tmp_path / "runs" / "1" / "model"


def test_a_copy_has_the_same_bytes_and_nobody_may_write_to_it(model, place, tmp_path):
    copy = copy_privately(model, place)
    assert copy == place / "m.onnx"
    for name in ("m.onnx", "weights/w.bin"):
        assert (place / name).read_bytes() == (tmp_path / name).read_bytes()
        assert stat.S_IMODE((place / name).stat().st_mode) == 0o444
    check_unchanged(model, copy)


def test_the_original_may_go_once_it_is_copied(model, place, tmp_path):
    copy = copy_privately(model, place)
    (tmp_path / "m.onnx").unlink()
    check_unchanged(model, copy)


@pytest.mark.parametrize("name", ["m.onnx", "weights/w.bin"])
def test_a_changed_copy_is_noticed(name, model, place):
    copy = copy_privately(model, place)
    changed = place / name
    changed.chmod(0o644)
    changed.write_bytes(changed.read_bytes()[:-1] + b"!")
    with pytest.raises(ModelChanged, match="changed while it was being measured"):
        check_unchanged(model, copy)


@pytest.mark.parametrize("name", ["m.onnx", "weights/w.bin"])
def test_a_deleted_copy_is_noticed(name, model, place):
    copy = copy_privately(model, place)
    (place / name).unlink()
    with pytest.raises(ModelChanged):
        check_unchanged(model, copy)


def test_a_model_that_changes_between_reading_and_copying_is_not_measured(model, place):
    with pytest.raises(ModelChanged, match=r"m\.onnx changed while it was being read"):
        copy_privately(replace(model, sha256="0" * 64), place)


def test_a_model_that_went_meanwhile_is_not_found(model, place, tmp_path):
    (tmp_path / "m.onnx").unlink()
    with pytest.raises(ModelNotFound, match="No such file or directory"):
        copy_privately(model, place)


def test_a_copy_never_overwrites_what_is_there(model, place):
    copy_privately(model, place)
    with pytest.raises(StorageFailed, match="File exists"):
        copy_privately(model, place)
