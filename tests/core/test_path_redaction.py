"""Results that leave the machine: nothing in them tells where a file lies."""

import json
from dataclasses import replace

import pytest

import modeldyno
from modeldyno.core.codec import encode
from modeldyno.core.redaction import without_model_places
from modeldyno.core.results import BenchmarkResult, Failure
from modeldyno.present.markdown import benchmark_markdown, plain
from tests.scripts import script


@pytest.mark.usefixtures("starts_processes")
def test_a_result_keeps_everything_but_its_folders(tmp_path):
    folder = tmp_path / "a folder, with blanks"
    folder.mkdir()
    path = str(script(folder / "net.json"))
    result = modeldyno.bench(path, iterations=3, workspace=tmp_path / "w")
    said = f"cannot open {path} nor {tmp_path}/scratch/x.bin"
    cell = replace(result.cells[0], error=Failure("X", said), notes=("see ~/notes/a.txt",))
    result = replace(result, cells=(cell,))
    assert str(tmp_path) in json.dumps(encode(result))  # the control

    found = without_model_places(result, {path: "My net"})
    assert isinstance(found, BenchmarkResult)
    assert "/" not in json.dumps(encode(replace(found, host=result.host))).replace("items/s", "")
    assert (found.model.path, found.spec.model.path) == ("My net", "My net")
    assert found.cells[0].error == Failure("X", "cannot open My net nor x.bin")
    assert found.cells[0].notes == ("see a.txt",)
    assert found.cells[0].measurement == result.cells[0].measurement
    assert without_model_places(result, {}).model.path == "net.json"

    text = benchmark_markdown(found)
    assert text.startswith("### My net\n")
    assert "```sh\nmodeldyno bench 'My net' --iterations 3\n```\n" in text
    text = benchmark_markdown(
        without_model_places(result, {path: "```evil"})
    )  # ends no block of code
    assert "````sh\nmodeldyno bench '```evil' --iterations 3\n````\n" in text


def test_text_is_no_markup():
    assert plain("a|b\n# <b>*x*</b> [y](z)") == r"a\|b \# \<b\>\*x\*\</b\> \[y\](z)"
