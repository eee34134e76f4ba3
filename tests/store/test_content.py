"""Files by the checksums of a spec: found in the workspace, not copied, whatever its path says."""

import hashlib
from dataclasses import replace

import pytest

from modeldyno.core.models import ExternalFile, ModelFacts
from modeldyno.core.specs import ModelSpec
from modeldyno.formats.sidecar import SUFFIX
from modeldyno.store.bundles import Bundles
from modeldyno.store.content import StoredContent, list_files_in_spec
from modeldyno.store.objects import Objects
from modeldyno.worker.launch import Stop

DATA, WEIGHTS, SAID = b"model", b"weights", b"[made]"


@pytest.fixture
def stop():
    wish = Stop()
    yield wish
    wish.close()


@pytest.fixture
def objects(tmp_path):
    return Objects(tmp_path / "objects", kept_free=0)


@pytest.fixture
def bundles(tmp_path, objects):
    return Bundles(tmp_path / "models", objects)


@pytest.fixture
def content(objects, bundles):
    return StoredContent(objects, bundles)


def sha256_of(data):
    return hashlib.sha256(data).hexdigest()


def keep(objects, data):
    with objects.receiving() as incoming:
        incoming.write(data)
        return incoming.store().sha256


def facts_of(path, *external):
    size = len(DATA) + sum(file.size_bytes for file in external)
    sha256 = sha256_of(DATA)
    return ModelFacts(str(path), "onnx", "onnx", sha256, size, 0, (), (), external=external)


def test_a_spec_lists_the_model_its_weights_and_what_is_said_beside_it(tmp_path):
    path = tmp_path / "net.onnx"
    (tmp_path / ("net.onnx" + SUFFIX)).write_bytes(SAID)
    (tmp_path / "x.npz").write_bytes(b"inputs")
    weights = ExternalFile("deep/w.bin", len(WEIGHTS), sha256_of(WEIGHTS))
    said = ModelSpec(str(path), data=str(tmp_path / "x.npz"))
    spec = list_files_in_spec(said, facts_of(path, weights))
    assert spec.files == (
        ExternalFile("net.onnx", len(DATA), sha256_of(DATA)),
        weights,
        ExternalFile("net.onnx" + SUFFIX, len(SAID), sha256_of(SAID)),
    )
    assert spec.data_file == ExternalFile("x.npz", 6, sha256_of(b"inputs"))
    assert replace(spec, files=(), data_file=None, sha256=None) == said


def test_a_model_is_found_by_checksum_and_not_copied(content, bundles, objects, stop):
    path = bundles.link_model_without_weights("net.onnx", keep(objects, DATA))
    spec = list_files_in_spec(ModelSpec("/not/here/net.onnx"), facts_of("/not/here/net.onnx"))
    local = content.local(spec, stop)
    assert local.path == str(path)
    assert path.samefile(objects.path(sha256_of(DATA)))
    assert replace(local, path=spec.path) == spec


def test_a_file_of_inputs_is_found_by_checksum(content, bundles, objects, stop):
    bundles.link_model_without_weights("net.onnx", keep(objects, DATA))
    inputs = ExternalFile("x.npz", 6, keep(objects, b"inputs"))
    spec = list_files_in_spec(ModelSpec("/not/here/net.onnx"), facts_of("/not/here/net.onnx"))
    spec = replace(spec, data="/not/here/x.npz", data_file=inputs)
    assert content.local(spec, stop).data == str(objects.path(inputs.sha256))


def test_a_model_that_was_never_taken_in_is_where_the_spec_says(content, stop, tmp_path):
    spec = list_files_in_spec(
        ModelSpec(str(tmp_path / "net.onnx")), facts_of(tmp_path / "net.onnx")
    )
    assert content.local(spec, stop) == spec


def test_the_same_model_with_other_weights_is_another(content, bundles, objects, stop):
    """A folder holds the files of one list."""
    bundles.link_model_without_weights("net.onnx", keep(objects, DATA))
    weights = ExternalFile("w.bin", len(WEIGHTS), sha256_of(WEIGHTS))
    spec = list_files_in_spec(
        ModelSpec("/not/here/net.onnx"), facts_of("/not/here/net.onnx", weights)
    )
    assert content.local(spec, stop) == spec
