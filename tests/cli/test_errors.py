"""With ``--json``, a script gets one document however a command ends."""

import json
import signal

import pytest

from modeldyno.cli import main
from tests import schemas
from tests.packages import python_path
from tests.processes import until
from tests.scripts import script
from tests.terminal import modeldyno, running


@pytest.mark.parametrize(
    ("words", "exit_code", "code"),
    [
        (("bench", "nowhere.onnx"), 4, "MODEL_NOT_FOUND"),
        (("compare", "nowhere.onnx", "neither.onnx"), 4, "MODEL_NOT_FOUND"),
        (("inspect", "nowhere.onnx"), 4, "MODEL_NOT_FOUND"),
        (("trust", "nowhere.onnx"), 4, "MODEL_NOT_FOUND"),
        (("bench", "--resume", "20260101-000000-000000"), 4, "RUN_NOT_FOUND"),
        (("doctor", "--loud"), 2, "BAD_VALUE"),
        (("demo", "--workspace", "/dev/null"), 2, "WORKSPACE_UNUSABLE"),
        (("bench", "--no-such-option"), 2, "BAD_VALUE"),
        (("bench", "m.onnx", "--timeout", "abc"), 2, "BAD_VALUE"),
        (("bench",), 2, "BAD_VALUE"),
        (("engines", "--loud"), 2, "BAD_VALUE"),
        (("bnech", "m.onnx"), 2, "BAD_VALUE"),
        (("trust",), 2, "BAD_VALUE"),
    ],
    ids=lambda words: " ".join(words) if isinstance(words, tuple) else "",
)
def test_an_error_is_a_document_too(words, exit_code, code, typed, tmp_path, monkeypatch):
    monkeypatch.setenv("MODELDYNO_WORKSPACE", str(tmp_path / "workspace"))
    ended = typed(*words, "--json")
    assert (ended.code, ended.error_code) == (exit_code, code)


def test_without_json_nothing_is_on_stdout(typed):
    assert typed("inspect", "nowhere.onnx").out == ""


@pytest.mark.usefixtures("starts_processes")
def test_a_bug_is_a_document_too(tmp_path):
    """Provoked by a broken Python: its module ``statistics`` is needed only after measuring."""
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "statistics.py").write_text("1 / 0")
    ended = modeldyno(
        *("bench", script(tmp_path / "m.json"), "--iterations", 5, "--json"),
        *("--workspace", tmp_path / "workspace"),
        PYTHONPATH=python_path(tmp_path / "broken"),
    )
    assert (ended.code, ended.error_code) == (main.BUG, "BUG")
    assert ended.document["error"]["title"] == "ZeroDivisionError: division by zero"


@pytest.mark.usefixtures("starts_processes")
def test_ctrl_c_before_there_is_anything_is_a_document_too(tmp_path):
    model = script(tmp_path / "m.json", load_ms=3_600_000)
    words = ("compare", model, model, "--json", "--workspace", tmp_path / "workspace")
    with running(*words) as process:
        until(lambda: list(tmp_path.glob("workspace/runs/*/model/*/m.json")), "loading to begin")
        process.send(signal.SIGINT)
        ended = process.end()
    assert (ended.code, ended.error_code) == (main.INTERRUPTED, "CANCELLED")


@pytest.mark.usefixtures("starts_processes")
def test_a_model_that_cannot_be_measured_is_named_beside_those_that_were(tmp_path):
    good = script(tmp_path / "good.json")
    bad = tmp_path / "bad.onnx"
    bad.write_text("hello")
    ended = modeldyno(
        *("bench", bad, good, "--iterations", 5, "--json"),
        *("--workspace", tmp_path / "workspace"),
    )
    assert ended.code == 2
    schemas.check("benchmark", ended.document)
    assert [cell["model"] for cell in ended.document["cells"]] == [str(good)]
    (error,) = ended.document["errors"]
    assert (error["model"], error["error"]["code"]) == (str(bad), "MODEL_UNREADABLE")
    assert "error[MODEL_UNREADABLE]: bad.onnx is a text file" in ended.err


@pytest.mark.usefixtures("starts_processes")
def test_a_document_that_is_printed_is_the_only_one(tmp_path):
    """The file for raw samples cannot be written; the result was printed before."""
    (tmp_path / "raw.csv").mkdir()
    ended = modeldyno(
        *("bench", script(tmp_path / "m.json"), "--iterations", 5, "--json"),
        *("--raw", tmp_path / "raw.csv", "--workspace", tmp_path / "workspace"),
    )
    assert ended.code == 1
    assert json.loads(ended.out)["schema"] == "modeldyno.benchmark/2"
    assert ended.err.startswith("error[STORAGE_FAILED]")
