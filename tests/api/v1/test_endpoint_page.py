"""``docs/endpoint.md``: its lines run, and it tells of every parameter and field."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys

import pytest

from modeldyno.api.v1.benchmark_by_name import MeasureByNameRequest
from modeldyno.core.documents.benchmark_by_name import MeasuredByNameDocument
from modeldyno.core.documents.described import field_names
from modeldyno.engines import availability
from tests import onnx_models as made
from tests.api.serving import ROOT
from tests.api.v1.by_name import ERROR_KEYS, folders
from tests.api.v1.server import serving

PAGE = (ROOT / "docs" / "endpoint.md").read_text()
OURS = "http://127.0.0.1:5000"


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.M | re.S)


@pytest.fixture(scope="module")
def served(tmp_path_factory, starts_processes):
    workspace = tmp_path_factory.mktemp("served")
    made.saved(made.linear(), folders(workspace) / "tenn_eeg.onnx")
    with serving(workspace) as found:
        yield found


def run(served, *command):
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"TOKEN": served.token, "MODELDYNO_TOKEN": served.token},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_its_first_call_answers_what_it_shows(served):
    first = blocks("sh")[0].splitlines()[1]  # the line before asks the terminal for the token
    found = json.loads(run(served, "bash", "-c", first.replace(OURS, served.url)))
    shown = json.loads(blocks("json")[0])
    kinds = {key: type(value) for key, value in shown.items() if not key.startswith("p")}
    assert {key: type(found[key]) for key in kinds} == kinds
    assert (found["iterations"], found["input_shape"]) == (100, [1, 4])


@pytest.mark.skipif(shutil.which("jq") is None, reason="the line needs jq")
def test_its_comparison_of_devices_runs(served):
    said = run(served, "bash", "-c", blocks("sh")[1].replace(OURS, served.url)).splitlines()
    assert [line.partition("\t")[0] for line in said] == ["cpu", "cuda", "mps"]
    assert re.fullmatch(r"cpu\t[\d.]+ ms \([\d.]+/s\)", said[0])
    assert "coreml" in said[2]


def test_its_python_client_runs(served):
    (text,) = blocks("python")
    said = run(served, sys.executable, "-c", text.replace(OURS, served.url))
    assert re.fullmatch(r"ONNX Runtime: [\d.]+ ms, \w+\n", said)


def test_its_error_has_the_keys_of_ours():
    assert json.loads(blocks("json")[1]).keys() == ERROR_KEYS


def test_it_tells_of_every_parameter_and_field():
    named = set(re.findall(r"`(\w+)`", PAGE)) | json.loads(blocks("json")[0]).keys()
    fields = set(field_names(MeasuredByNameDocument)) | {"results", "candidates"}
    assert (set(MeasureByNameRequest.model_fields) | fields) - named == set()


def test_every_device_stands_in_the_page_about_devices():
    page = (ROOT / "docs" / "devices.md").read_text()
    assert [name for name in availability.all_devices() if f"| `{name}`" not in page] == []
