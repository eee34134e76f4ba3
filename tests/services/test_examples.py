"""Examples: which there are, what can be had here, and one of them in the workspace."""

import gzip
import io
import json
import os
import tarfile
import zipfile
from pathlib import Path

import pytest

import modeldyno
from modeldyno.core.codec import Mismatch
from modeldyno.core.errors import (
    ArchiveRefused,
    Cancelled,
    DownloadFailed,
    DownloadRefused,
    DownloadsOff,
    ExampleNotFound,
    ExampleUnavailable,
    PathRefused,
)
from modeldyno.services.examples import ExampleService
from modeldyno.settings import Settings
from modeldyno.store.downloads import Downloads
from modeldyno.store.examples import CATALOGUE, find_wheel_file, read_catalogue
from modeldyno.store.objects import Objects
from modeldyno.workbench import open_examples
from tests.model_server import File, example, model_server

MODEL = b"a frozen graph" * 20_000

# What INC Bench listed, in its order.
LISTED = [
    ("Image Recognition", "inception_v3"),
    ("Image Recognition", "inception_v4"),
    ("Image Recognition", "mobilenetv1"),
    ("Image Recognition", "resnet50_v1_5"),
    ("Image Recognition", "resnet101"),
    ("Object Detection", "faster_rcnn_inception_resnet_v2"),
    ("Object Detection", "faster_rcnn_resnet101"),
    ("Object Detection", "mask_rcnn_inception_v2"),
    ("Object Detection", "ssd_mobilenet_v1"),
    ("Object Detection", "ssd_resnet50_v1"),
]


@pytest.fixture(scope="module")
def running():
    with model_server() as server:
        yield server


@pytest.fixture
def server(running):
    running.files.clear()
    running.asked.clear()
    running.files["/net.pb"] = File(MODEL)
    return running


@pytest.fixture
def service(server, tmp_path):
    def make(*examples, allow_downloads=True):
        downloads = Downloads(tmp_path / "downloads", server.network(), kept_free=0, pauses_s=())
        objects = Objects(tmp_path / "objects", kept_free=0)
        known = {one.slug: one for one in examples or (example(),)}
        return ExampleService(known, objects, downloads, allow_downloads=allow_downloads)

    return make


@pytest.fixture
def shipped(tmp_path):
    """What people have, offline as it comes."""
    return open_examples(Settings.read(tmp_path, {}))


def files(folder: Path):
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


# ---------------------------------------------------------------- the catalogue


def test_the_catalogue_holds_architectures_to_try_and_what_inc_bench_listed(shipped):
    found = [one.example for one in shipped.list()]
    assert [one.kind for one in found] == ["onnx-wheel"] * 9 + ["keras"] * 13 + ["download"] * 10
    downloads = [one for one in found if one.kind == "download"]
    assert [(one.domain, one.name) for one in downloads] == LISTED
    assert {one.framework for one in downloads} == {"TensorFlow"}
    assert sum(one.sha256 is not None for one in downloads) == 4
    for one in found:
        assert shipped.get(one.slug).example is one
        assert one.note.endswith(".")


def test_a_note_says_what_an_example_is_useless_for(shipped):
    for shown in shipped.list():
        made_up = shown.example.kind != "download"
        assert ("useless for accuracy" in shown.example.note) == made_up
        unknown = shown.example.kind == "download" and shown.example.sha256 is None
        assert ("No checksum" in shown.example.note) == unknown


def test_what_can_be_had_offline_is_what_installed_packages_bring(shipped):
    states = {(one.example.kind, one.available, one.can_run) for one in shipped.list()}
    assert states == {
        ("onnx-wheel", True, True),
        ("keras", True, True),
        ("download", False, True),
    }
    for shown in shipped.list():
        assert shown.available or (shown.why_not and shown.fix)


def test_allowing_downloads_makes_them_available_and_nothing_else(tmp_path):
    settings = Settings.read(tmp_path, {"MODELDYNO_ALLOW_DOWNLOADS": "1"})
    assert settings.allow_downloads
    available = {one.example.kind for one in open_examples(settings).list() if one.available}
    assert available == {"onnx-wheel", "keras", "download"}
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({}, None),
        ({"slug": "Net/.."}, ValueError),
        ({"file": "../x.pb"}, PathRefused),
        ({"url": "http://models.test/x"}, DownloadRefused),
        ({"url": "https://ann@models.test/x"}, DownloadRefused),
        ({"url": None}, ValueError),
        ({"kind": "keras"}, ValueError),
        ({"kind": "other"}, Mismatch),
        ({"sha256": "ABC"}, ValueError),
        ({"size_bytes": "7"}, Mismatch),
        ({"inputs": ["a", "b"]}, ValueError),
        ({"colour": "red"}, Mismatch),
        ({"twice": True}, ValueError),
    ],
)
def test_a_catalogue_with_a_mistake_is_refused(tmp_path, change, error):
    entry = json.loads(CATALOGUE.read_text())["examples"][-1]
    entries = [entry] * (2 if change.pop("twice", False) else 1)
    (tmp_path / "c.json").write_text(json.dumps({"examples": [one | change for one in entries]}))
    if error is None:
        assert [*read_catalogue(tmp_path / "c.json")] == [entry["slug"]]
        return
    with pytest.raises(error):
        read_catalogue(tmp_path / "c.json")


def test_a_name_that_is_nearly_right_is_answered_with_the_right_one(shipped):
    with pytest.raises(ExampleNotFound, match="onnx-resnet50"):
        shipped.get("onnx-resnet5")
    with pytest.raises(ExampleNotFound, match="modeldyno examples"):
        shipped.fetch("what")


# ---------------------------------------------------------------- out of the onnx package


@pytest.mark.parametrize("slug", [slug for slug in read_catalogue() if slug.startswith("onnx-")])
def test_a_model_of_the_onnx_package_is_stored_as_it_is(shipped, slug):
    told = []
    fetched = shipped.fetch(slug, say=lambda *how_far: told.append(how_far))
    original = find_wheel_file(fetched.example)
    assert original is not None
    assert fetched.path.read_bytes() == original.read_bytes()
    assert fetched.stored.size_bytes == original.stat().st_size == shipped.get(slug).size_bytes
    assert fetched.path.name == fetched.stored.sha256
    assert fetched.source.startswith("onnx 1.")
    assert shipped.fetch(slug) == fetched
    assert told == []


@pytest.mark.engine("onnxruntime")
def test_the_catalogue_says_what_the_models_of_the_onnx_package_take(shipped, tmp_path):
    for slug in ("onnx-squeezenet", "onnx-resnet50"):
        fetched = shipped.fetch(slug)
        facts = modeldyno.inspect(fetched.path)
        told = fetched.example
        assert [one.name for one in facts.inputs] == [*told.inputs]
        assert [one.shape for one in facts.inputs] == [(1, *shape) for shape in told.input_shapes]
        assert [one.name for one in facts.outputs] == [*told.outputs]
        assert (facts.format, facts.framework) == (told.format, told.framework)
        assert facts.sha256 == fetched.stored.sha256


@pytest.mark.engine("onnxruntime")
def test_an_example_can_be_measured_as_it_is_stored(shipped, tmp_path):
    fetched = shipped.fetch("onnx-squeezenet")
    result = modeldyno.bench(fetched.path, iterations=5, warmup=1, workspace=tmp_path)
    (cell,) = result.cells
    assert cell.status == "done"
    assert cell.measurement is not None
    assert cell.measurement.latency.typical.value > 0


def test_a_model_that_the_package_does_not_have_is_not_available(service):
    gone = example(slug="gone", kind="onnx-wheel", url=None, file="backend/gone.onnx")
    shown = service(gone).get("gone")
    assert (shown.available, shown.size_bytes) == (False, None)
    assert "does not contain it" in shown.why_not
    with pytest.raises(ExampleUnavailable, match="pip install"):
        service(gone).fetch("gone")


def test_a_keras_architecture_says_what_is_missing(shipped, monkeypatch):
    monkeypatch.setattr("modeldyno.services.examples._has_keras", lambda: False)
    with pytest.raises(ExampleUnavailable, match=r"Keras.*TensorFlow") as caught:
        shipped.fetch("keras-resnet50")
    shown = shipped.get("keras-resnet50")
    assert (shown.why_not, shown.fix) == (caught.value.why, caught.value.fix)
    assert "pip install 'modeldyno[tensorflow]'" in shown.fix


@pytest.mark.usefixtures("starts_processes")
def test_an_architecture_that_keras_has_not_leaves_nothing(service, tmp_path):
    made_up = example(slug="keras-none", kind="keras", url=None, file="NoSuchNet.keras")
    with pytest.raises(ExampleUnavailable, match="could not build NoSuchNet") as caught:
        service(made_up).fetch("keras-none")
    assert "NoSuchNet" in caught.value.why
    assert files(tmp_path / "objects") == []


# ---------------------------------------------------------------- downloads


def test_a_download_is_stored_and_told_of(service, tmp_path):
    told = []
    fetched = service().fetch("net", say=lambda *how_far: told.append(how_far))
    assert fetched.path.read_bytes() == MODEL
    assert fetched.source == "https://models.test/net.pb"
    assert (told[0], told[-1]) == ((0, len(MODEL)), (len(MODEL), len(MODEL)))
    assert files(tmp_path / "downloads") == ["net.kept", "net.lock"]


def test_nothing_is_downloaded_unless_that_is_allowed(service, server, tmp_path):
    with pytest.raises(DownloadsOff, match="--allow-downloads"):
        service(allow_downloads=False).fetch("net")
    assert server.asked == []
    assert not [*tmp_path.iterdir()]
    assert service().fetch("net").path.read_bytes() == MODEL


def test_what_was_downloaded_once_is_there_offline(service, server):
    fetched = service().fetch("net")
    offline = service(allow_downloads=False)
    assert offline.get("net").available
    assert offline.fetch("net") == fetched
    assert len(server.asked) == 1
    note = next((fetched.path.parents[3] / "downloads").glob("*.kept"))
    note.write_text(note.read_text().replace(fetched.stored.sha256, "../x"))
    assert not offline.get("net").available
    service().fetch("net")
    fetched.path.unlink()
    assert not offline.get("net").available
    with pytest.raises(DownloadsOff):
        offline.fetch("net")
    assert service().fetch("net").path.read_bytes() == MODEL


def test_what_cannot_be_fetched_says_so_and_is_gone_on_with(service, server):
    server.files["/net.pb"] = File(MODEL, cuts=[100_000])
    with pytest.raises(DownloadFailed, match="could not be downloaded") as caught:
        service().fetch("net")
    assert caught.value.why
    assert "kept" in caught.value.fix
    assert service().fetch("net").path.read_bytes() == MODEL
    assert server.asked[-1].range == "bytes=100000-"


# ---------------------------------------------------------------- archives


def tar_of(**members):
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name, content in members.items():
            about = tarfile.TarInfo(name)
            about.size = len(content)
            archive.addfile(about, io.BytesIO(content))
    return gzip.compress(packed.getvalue(), 1)


def zip_of(**members):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return packed.getvalue()


INSIDE = {"net_2018/checkpoint": b"weights", "net_2018/frozen.pb": os.urandom(300_000)}
PACKED = example("/net.tar.gz", is_archive=True, file="net_2018/frozen.pb")


@pytest.mark.parametrize("pack", [tar_of, zip_of])
def test_of_an_archive_the_named_model_is_stored_and_nothing_else(service, server, tmp_path, pack):
    server.files["/net.tar.gz"] = File(pack(**INSIDE))
    fetched = service(PACKED).fetch("net")
    assert fetched.path.read_bytes() == INSIDE["net_2018/frozen.pb"]
    assert files(tmp_path) == sorted([fetched.stored.sha256, "net.kept", "net.lock"])
    assert not [*(tmp_path / "downloads").glob("*unpacked*")]


@pytest.mark.parametrize(
    ("archive", "error"),
    [
        (tar_of(**{"net_2018/other.pb": b"x"}), DownloadRefused),
        (tar_of(**{"../frozen.pb": b"x"}), ArchiveRefused),
        (tar_of(**INSIDE)[:-1000], ArchiveRefused),
        (b"<html>moved</html>", ArchiveRefused),
    ],
)
def test_an_archive_that_is_not_what_it_should_be_leaves_nothing(
    service, server, tmp_path, archive, error
):
    server.files["/net.tar.gz"] = File(archive)
    with pytest.raises(error):
        service(PACKED).fetch("net")
    assert files(tmp_path) == ["net.lock"]
    server.files["/net.tar.gz"] = File(tar_of(**INSIDE))
    assert service(PACKED).fetch("net").stored.size_bytes == 300_000


def test_unpacking_can_be_stopped_and_is_not_preceded_by_a_second_download(
    service, server, tmp_path
):
    server.files["/net.tar.gz"] = File(tar_of(**INSIDE))
    whole = tmp_path / "downloads" / "net.part"
    unpacking = tmp_path / "downloads" / "net.unpacked"
    with pytest.raises(Cancelled):
        service(PACKED).fetch("net", stop=unpacking.exists)
    assert (whole.exists(), unpacking.exists()) == (True, False)
    assert service(PACKED).fetch("net").stored.size_bytes == 300_000
    assert len(server.asked) == 1


def test_what_a_killed_process_left_unpacked_is_no_obstacle(service, server, tmp_path):
    server.files["/net.tar.gz"] = File(tar_of(**INSIDE))
    left = tmp_path / "downloads" / "net.unpacked"
    left.mkdir(parents=True)
    (left / "frozen.pb").write_bytes(b"half of it")
    assert service(PACKED).fetch("net").stored.size_bytes == 300_000
