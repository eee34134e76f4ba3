"""``modeldyno engines``: what can run here, and why not."""

import importlib.metadata

from tests import schemas
from tests.packages import install, python_path
from tests.terminal import modeldyno

VERSION = importlib.metadata.version("onnxruntime")


def test_the_document_is_what_the_schema_promises():
    ended = modeldyno("engines", "--json")
    schemas.check("engines", ended.document)
    assert (ended.code, ended.err) == (0, "")
    assert ended.document["engines"][0] == {
        "name": "onnxruntime",
        "usable": True,
        "version": VERSION,
        "why_not": None,
        "install": "pip install onnxruntime",
        "devices": ["cpu", "cuda", "tensorrt", "coreml"],
        "formats": ["onnx"],
    }


def test_people_get_a_table():
    ended = modeldyno("engines")
    lines = [line.split() for line in ended.out.splitlines()]
    devices = ["cpu,", "cuda,", "tensorrt,", "coreml"]
    assert ["onnxruntime", "yes", VERSION, *devices, "onnx"] in lines


def test_an_engine_that_is_broken_is_listed_with_its_reason(tmp_path):
    site = install(tmp_path / "site", "abacus", "raise OSError('no beads')", "abacus = abacus:E")
    ended = modeldyno("engines", "--json", PYTHONPATH=python_path(site))
    schemas.check("engines", ended.document)
    assert ended.code == 0
    assert ended.document["engines"][-1] == {
        "name": "abacus",
        "usable": False,
        "version": None,
        "why_not": "its entry point cannot be loaded: OSError: no beads",
        "install": "repair the package behind abacus:E",
        "devices": [],
        "formats": [],
    }
