"""What a worker left is taken as a file, or not at all."""

import os
import stat
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

import modeldyno
from modeldyno.core.errors import EngineFailed, WorkerGarbled
from modeldyno.engines import catalog
from modeldyno.jobs import preparation
from modeldyno.jobs.scratch_files import copy_out
from tests import onnx_models


def test_a_file_is_copied_and_read_only(tmp_path):
    (tmp_path / "made").mkdir()
    (tmp_path / "made" / "net.onnx").write_bytes(b"net")
    copy_out(tmp_path, ("made", "net.onnx"), tmp_path / "kept.onnx")
    assert (tmp_path / "kept.onnx").read_bytes() == b"net"
    assert stat.S_IMODE((tmp_path / "kept.onnx").stat().st_mode) == 0o444


@pytest.mark.parametrize("odd", ["link", "folder that is a link", "folder", "pipe"])
def test_anything_but_a_file_is_refused_and_targets_of_links_are_left_alone(odd, tmp_path):
    scratch, home = tmp_path / "scratch", tmp_path / "home"
    scratch.mkdir()
    home.mkdir()
    (home / "net.onnx").write_text("secret")
    (home / "net.onnx").chmod(0o600)
    names: tuple[str, ...] = ("net.onnx",)
    match odd:
        case "link":
            (scratch / "net.onnx").symlink_to(home / "net.onnx")
        case "folder that is a link":
            (scratch / "made").symlink_to(home)
            names = ("made", "net.onnx")
        case "folder":
            (scratch / "net.onnx").mkdir()
        case "pipe":
            os.mkfifo(scratch / "net.onnx")
    with pytest.raises(WorkerGarbled, match="not a file"):
        copy_out(scratch, names, tmp_path / "kept.onnx")
    assert not (tmp_path / "kept.onnx").exists()
    assert stat.S_IMODE((home / "net.onnx").stat().st_mode) == 0o600


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(EngineFailed) as caught:
        copy_out(tmp_path, ("net.onnx",), tmp_path / "kept.onnx")
    assert caught.value.why == "there is no net.onnx"


@pytest.mark.usefixtures("starts_processes")
def test_a_link_in_place_of_a_lowered_model_is_not_followed(tmp_path):
    model = onnx_models.saved(onnx_models.linear(), tmp_path / "net.onnx")
    facts = modeldyno.inspect(model)
    secret = tmp_path / "secret"
    secret.write_text("mine")
    secret.chmod(0o600)
    folder = SimpleNamespace(scratch=tmp_path / "scratch", model=tmp_path / "model")
    folder.scratch.mkdir()
    folder.model.mkdir()

    class Worker:
        """One that a model has taken over."""

        def request(self, command, *_):
            Path(command.to).symlink_to(secret)

    old = replace(catalog.find("onnxruntime"), newest_opset=1, newest_ir=1)
    with pytest.raises(WorkerGarbled):
        preparation.readable_copy(
            old,
            facts,
            model,
            "0",
            SimpleNamespace(worker=Worker),  # type: ignore[arg-type]  # all that is asked of it
            SimpleNamespace(folder=folder, stop=None),  # type: ignore[arg-type]
            0.0,
        )
    assert stat.S_IMODE(secret.stat().st_mode) == 0o600
