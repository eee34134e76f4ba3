"""Folders of models: one for each set of files, and none that nobody uses."""

import hashlib
import os
import time

import pytest

from modeldyno.core.models import ExternalFile
from modeldyno.store.bundles import Bundles, safe_file_name
from modeldyno.store.objects import LEFT_OVER_S, Objects

DATA, WEIGHTS = b"model", b"weights"
SHA = hashlib.sha256(DATA).hexdigest()
BESIDE = (ExternalFile("deep/w.bin", 7, hashlib.sha256(WEIGHTS).hexdigest()),)


@pytest.fixture
def objects(tmp_path):
    return Objects(tmp_path / "objects", kept_free=0)


@pytest.fixture
def bundles(tmp_path, objects):
    keep(objects, DATA)
    return Bundles(tmp_path / "models", objects)


def keep(objects, data):
    with objects.receiving() as incoming:
        incoming.write(data)
        return incoming.store()


def gather(bundles, owner="1", data=WEIGHTS):
    place = bundles.waiting_folder(owner) / "deep"
    place.mkdir(parents=True)
    (place / "w.bin").write_bytes(data)


def files(folder):
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())


def test_a_model_gets_a_folder_of_its_own_and_no_second_copy(bundles, objects):
    path = bundles.link_model_without_weights("net.onnx", SHA)
    assert path.read_bytes() == DATA
    assert files(path.parent) == ["net.onnx"]
    assert path.samefile(objects.path(SHA))
    assert bundles.link_model_without_weights("net.onnx", SHA) == path
    other = bundles.link_model_without_weights("other.onnx", SHA)
    assert (other.name, other.parent) != (path.name, path.parent)
    assert other.samefile(path)


def test_where_there_are_no_hard_links_a_copy_does(bundles, monkeypatch):
    def refuse(*_):
        raise PermissionError

    monkeypatch.setattr(os, "link", refuse)
    path = bundles.link_model_without_weights("net.onnx", SHA)
    assert (path.read_bytes(), path.stat().st_nlink) == (DATA, 1)


def test_weights_gather_and_become_one_with_their_model(bundles):
    gather(bundles)
    assert bundles.list_arrived_weights("1") == {"deep/w.bin"}
    assert (bundles.describe_arrived_file("1", "deep/w.bin"),) == BESIDE
    with bundles.linked_beside_arrived_weights("1", "net.onnx", SHA) as path:
        assert files(path.parent) == ["deep/w.bin", "net.onnx"]
    assert bundles.list_arrived_weights("1") == {"deep/w.bin"}
    whole = bundles.move_model_and_weights_into_place("1", "net.onnx", SHA, BESIDE)
    assert files(whole.parent) == ["deep/w.bin", "net.onnx"]
    assert not bundles.waiting_folder("1").exists()
    gather(bundles, "2")  # somebody else brings the same
    assert bundles.move_model_and_weights_into_place("2", "net.onnx", SHA, BESIDE) == whole
    assert not bundles.waiting_folder("2").exists()


def test_a_model_that_a_killed_server_left_among_its_weights_is_in_nobodys_way(bundles, objects):
    gather(bundles)
    left = bundles.waiting_folder("1") / "net.onnx"
    os.link(objects.path(SHA), left)
    assert bundles.list_arrived_weights("1", "net.onnx") == {"deep/w.bin"}
    with bundles.linked_beside_arrived_weights("1", "net.onnx", SHA) as path:
        assert path.read_bytes() == DATA
    left.write_bytes(DATA[:2])  # half a copy, where there are no links
    whole = bundles.move_model_and_weights_into_place("1", "net.onnx", SHA, BESIDE)
    assert files(whole.parent) == ["deep/w.bin", "net.onnx"]
    assert whole.read_bytes() == DATA == objects.path(SHA).read_bytes()


def test_what_nobody_uses_is_swept_and_the_file_goes_with_its_last_folder(bundles, objects):
    one, two = (
        bundles.link_model_without_weights("one.onnx", SHA),
        bundles.link_model_without_weights("two.onnx", SHA),
    )
    assert bundles.delete_unused({str(one), str(two)}) == 0
    bundles.delete_unused({str(two)})
    assert not one.exists()
    assert two.read_bytes() == DATA
    assert objects.path(SHA).exists()
    bundles.delete_unused(set())
    assert not two.parent.parent.exists()
    assert not objects.path(SHA).exists()


def test_what_somebody_is_at_work_on_is_left_alone(bundles, objects):
    path = bundles.link_model_without_weights("net.onnx", SHA)
    gather(bundles, "7")
    bundles.delete_unused(set(), busy={SHA, "7"})
    assert path.exists()
    assert bundles.list_arrived_weights("7")
    bundles.delete_unused({"7"})  # the model of that number is there
    assert bundles.list_arrived_weights("7")
    bundles.delete_unused(set())
    assert not bundles.list_arrived_weights("7")
    assert not path.exists()


def test_what_a_killed_server_left_is_swept_when_it_is_old(bundles, objects):
    assert bundles.delete_unused(set()) == 0  # it may be on its way
    assert objects.path(SHA).exists()
    long_ago = time.time() - LEFT_OVER_S - 60
    os.utime(objects.path(SHA), (long_ago, long_ago))
    assert bundles.delete_unused(set(), kept={SHA}) == 0
    assert bundles.delete_unused(set()) == 1
    assert not objects.path(SHA).exists()


@pytest.mark.parametrize("name", ["exported", SHA[:63], SHA.upper(), f"{SHA}.old"])
def test_folders_that_are_not_ours_are_left_alone(bundles, tmp_path, name):
    theirs = tmp_path / "models" / name / "mine" / "net.onnx"
    theirs.parent.mkdir(parents=True)
    theirs.write_bytes(DATA)
    empty = tmp_path / "models" / "empty"
    empty.mkdir()
    ours = bundles.link_model_without_weights("net.onnx", SHA)
    assert bundles.delete_unused(set()) == 1
    assert not ours.exists()
    assert theirs.read_bytes() == DATA
    assert empty.is_dir()


def test_what_is_kept_stays_without_a_model(bundles, objects):
    bundles.link_model_without_weights("net.onnx", SHA)
    bundles.delete_unused(set(), kept={SHA})
    assert objects.path(SHA).exists()
    assert bundles.link_model_without_weights("net.onnx", SHA).read_bytes() == DATA


@pytest.mark.parametrize(
    ("said", "plain"),
    [
        ("net.onnx", "net.onnx"),
        ("Größe 2.onnx", "Groe_2.onnx"),
        ("模型.onnx", "onnx"),
        ("../../etc/passwd", "etc_passwd"),
        ("-rf", "rf"),
        ("\u202egnp.exe\n", "gnp.exe_"),
        ("...", "model"),
        ("x" * 300 + ".onnx", "x" * 95 + ".onnx"),
    ],
)
def test_file_names_are_plain_whatever_people_call_their_models(said, plain):
    assert safe_file_name(said) == plain
