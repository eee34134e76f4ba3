"""``modeldyno engines``: what can run here, and why not."""

import importlib.metadata

import pytest

from tests import schemas
from tests.packages import install, python_path
from tests.terminal import modeldyno

VERSION = importlib.metadata.version("onnxruntime")


@pytest.mark.usefixtures("starts_processes")
def test_the_document_is_what_the_schema_promises():
    ended = modeldyno("engines", "--json")
    schemas.check("engines", ended.document)
    assert (ended.code, ended.err) == (0, "")
    told = ended.document["engines"][0]
    here, absent = told.pop("devices"), told.pop("unavailable_devices")
    assert here[0] == "cpu"
    assert {*here, *absent} == {"cpu", "cuda", "tensorrt", "coreml"}
    assert told.pop("device_notes").keys() == {*here[1:]}
    assert told == {
        "name": "onnxruntime",
        "title": "ONNX Runtime",
        "color": 0,
        "usable": True,
        "version": VERSION,
        "why_not": None,
        "install": "pip install onnxruntime",
        "formats": ["onnx"],
        "has_streams": False,
        "adapter": "onnxruntime",
        "python": None,
        "origin": "",
    }


@pytest.mark.usefixtures("starts_processes")
def test_people_get_a_table_and_why_devices_are_not_there():
    engines, _, why = modeldyno("engines", CUDA_VISIBLE_DEVICES="").out.partition("\n\n")
    lines = [line.split() for line in engines.splitlines()]
    names = [line[0] for line in lines]
    assert "scripted" not in names  # the engine of tests
    assert {"onnxruntime", "openvino", "pytorch"} <= {*names}
    (ours,) = [line for line in lines if line[0] == "onnxruntime"]
    assert ours[:4] == ["onnxruntime", "yes", VERSION, "cpu"]
    (cuda,) = [line for line in why.splitlines() if line.startswith("onnxruntime  cuda")]
    assert cuda.split()[3] == "no"


@pytest.mark.usefixtures("starts_processes")
def test_an_engine_that_is_broken_is_listed_with_its_reason(tmp_path):
    site = install(tmp_path / "site", "abacus", "raise OSError('no beads')", "abacus = abacus:E")
    ended = modeldyno("engines", "--json", PYTHONPATH=python_path(site))
    schemas.check("engines", ended.document)
    assert ended.code == 0
    assert ended.document["engines"][-1] == {
        "name": "abacus",
        "title": "abacus",
        "color": 7,
        "usable": False,
        "version": None,
        "why_not": "its entry point cannot be loaded: OSError: no beads",
        "install": "repair the package behind abacus:E",
        "devices": [],
        "formats": [],
        "has_streams": False,
        "unavailable_devices": {},
        "device_notes": {},
        "adapter": "abacus",
        "python": None,
        "origin": "",
    }
