"""``--server``: the same commands, on a server; and the terminal's runs, seen by the server."""

import hashlib
import json
import shutil
import time

import pytest

import modeldyno
from tests import schemas
from tests.processes import until
from tests.scripts import fault, script
from tests.terminal import serving


@pytest.fixture(scope="module")
def measured(tmp_path_factory, starts_processes):
    """A benchmark and a comparison, made in the terminal before there was a server."""
    folder = tmp_path_factory.mktemp("server_option")
    a, b = script(folder / "a.json", latency_us=100), script(folder / "b.json", latency_us=300)
    modeldyno.bench(a, batch=[1, 2], iterations=5, workspace=folder / "theirs")
    modeldyno.compare(a, b, pairs=2, workspace=folder / "theirs")
    return folder


@pytest.fixture(scope="module")
def server(measured, starts_processes):
    with serving(measured / "theirs") as server:
        yield server


@pytest.fixture
def here(typed, measured):
    return lambda *words: typed(*words, "--workspace", measured / "theirs")


@pytest.fixture
def there(typed, server, monkeypatch, tmp_path):
    """With the server's token, from a workspace that is not the server's."""
    monkeypatch.setenv("MODELDYNO_TOKEN", server.token)
    return lambda *words: typed(*words, "--server", server.url, "--workspace", tmp_path)


def ids(measured):
    return sorted(path.name for path in (measured / "theirs" / "runs").iterdir())


def without_folders(measured, text):
    return text.replace(f"{measured}/", "")


def test_runs_of_the_terminal_are_listed_and_shown_as_they_are_here(here, there, measured):
    for words in (("ls", "--json"), ("show", "--json"), ("show", ids(measured)[0])):
        ours, theirs = here(*words), there(*words)
        assert (theirs.code, theirs.err) == (0, without_folders(measured, ours.err))
        assert theirs.out == without_folders(measured, ours.out)
    assert len(there("ls").out.splitlines()) == 3


@pytest.mark.parametrize("form", ["md", "csv", "json"])
def test_reports_are_the_same(here, there, measured, form):
    words = ("report", ids(measured)[0], "--format", form)
    assert there(*words).out == without_folders(measured, here(*words).out)


def test_a_note_that_is_written_there_is_read_here(here, there, measured):
    assert there("note", ids(measured)[0], "seen from afar").code == 0
    assert here("note", ids(measured)[0]).out == "seen from afar\n"
    told = there("note", "latest", "--json").document
    schemas.check("note", told)
    assert (told["kind"], told["text"]) == ("comparison", "")


def test_engines_and_the_doctor_are_those_of_the_server(there):
    engines = there("engines", "--json")
    schemas.check("engines", engines.document)
    assert "onnxruntime" in there("engines").out
    schemas.check("examples", there("examples", "--json").document)
    assert "onnx-resnet50" in there("examples").out
    doctor = there("doctor", "--json")
    schemas.check("doctor", doctor.document)
    refused = there("doctor", "--peaks")
    assert refused.code == 2
    assert "--peaks does not work on a server" in refused.err


def test_a_number_means_the_same_run_there(there, measured):
    shown = [there("show", number, "--json").document["run_id"] for number in (1, 2)]
    assert shown == ids(measured)
    missing = there("show", "77")
    assert missing.code == 4
    assert "There is no run #77 on this server" in missing.err
    assert "The latest are #2, #1" in missing.err


def test_a_run_is_removed_there(there, server, measured, tmp_path):
    first, _ = ids(measured)
    removed = there("rm", first, "--json")
    assert removed.document["removed"] == [first]
    assert [run["run_id"] for run in there("ls", "--json").document["runs"]] != []
    assert there("show", first).code == 4


@pytest.mark.parametrize("command", [("ls",), ("show",), ("engines",), ("jobs", "ls"), ("open",)])
def test_without_the_right_token_the_exit_code_is_3(typed, server, tmp_path, monkeypatch, command):
    monkeypatch.setenv("MODELDYNO_TOKEN", "wrong")
    assert typed(*command, "--server", server.url, "--workspace", tmp_path).code == 3


@pytest.mark.parametrize(
    "command",
    [
        *(("bench", "m.json"), ("compare", "m.json", "m.json"), ("inspect", "m.json")),
        *(("trust", "--list"), ("ls",), ("show",), ("report",), ("rerun", "latest")),
        *(("rm", "latest"), ("note", "latest"), ("jobs", "ls"), ("jobs", "logs", "1")),
        *(("jobs", "cancel", "1"), ("jobs", "resume", "1"), ("engines",), ("doctor",), ("open",)),
        ("examples",),
    ],
    ids=" ".join,
)
def test_every_command_says_when_nobody_answers(typed, tmp_path, monkeypatch, command):
    script(tmp_path / "m.json")
    monkeypatch.chdir(tmp_path)
    ended = typed(*command, "--server", "http://127.0.0.1:9", "--workspace", tmp_path)
    assert ended.code == 3
    assert "No server answers at http://127.0.0.1:9" in ended.err


def test_the_environment_names_the_server_too(typed, server, measured, tmp_path, monkeypatch):
    monkeypatch.setenv("MODELDYNO_TOKEN", server.token)
    monkeypatch.setenv("MODELDYNO_SERVER", server.url)
    ended = typed("ls", "--json", "--workspace", tmp_path)
    assert json.loads(ended.out)["runs"][0]["run_id"] == ids(measured)[-1]


@pytest.mark.parametrize(
    "words",
    [
        ("bench", "m.json", "--data", "x.npz"),
        ("bench", "m.json", "--no-sandbox"),
        ("bench", "m.json", "--architecture", "a.b:c"),
        ("inspect", "m.json", "--graph"),
    ],
    ids=" ".join,
)
def test_what_a_server_cannot_be_told_is_refused(there, tmp_path, monkeypatch, words):
    script(tmp_path / "m.json")
    shutil.copy(tmp_path / "m.json", tmp_path / "x.npz")
    monkeypatch.chdir(tmp_path)
    ended = there(*words)
    assert ended.code == 2
    assert "does not work on a server" in ended.err


def test_a_run_that_is_made_here_appears_on_the_server_that_works(there, measured, tmp_path):
    model = script(tmp_path / "new.json")
    made = modeldyno.bench(model, iterations=5, workspace=measured / "theirs").run_id
    deadline = time.monotonic() + 60
    while there("show", made).code:
        assert time.monotonic() < deadline
        time.sleep(0.2)


# ---------------------------------------------------------------- measured there


@pytest.fixture
def model(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return script(tmp_path / "m.json", latency_us=100).name


def test_a_benchmark_is_measured_there_with_the_same_document_and_raw_samples(
    here, there, model, tmp_path
):
    words = ("--batch", "1,2", "--iterations", 7, "--raw", "raw.csv", "--csv", "table.csv")
    ended = there("bench", model, *words, "--json")
    assert ended.code == 0, ended.err
    schemas.check("benchmark", ended.document)
    assert [cell["samples"] for cell in ended.document["cells"]] == [7, 7]
    assert len((tmp_path / "raw.csv").read_text().splitlines()) == 1 + 2 * 7
    assert len((tmp_path / "table.csv").read_text().splitlines()) == 1 + 2
    assert not (tmp_path / "runs").exists()
    assert here("show", ended.document["runs"][0]).out.splitlines()[0].split()[:2] == [
        *("cores", "batch")
    ]
    again = there("rerun", ended.document["runs"][0], "--json")
    assert (again.code, again.document["model"]["sha256"]) == (0, ended.document["model"]["sha256"])


def test_a_file_that_a_terminal_measured_and_nobody_read_is_sent(there, measured, tmp_path):
    """A run that never came to its end leaves a model of which only the content is known."""
    model = script(tmp_path / "unread.json", latency_us=123)
    content = hashlib.sha256(model.read_bytes()).hexdigest()
    run = shutil.copytree(measured / "theirs" / "runs" / ids(measured)[0], tmp_path / "run")
    (run / "result.json").unlink()
    (run / "state.json").write_text(json.dumps({"state": "interrupted", "failure": None}))
    facts = json.loads((run / "model.json").read_text())
    (run / "model.json").write_text(json.dumps(facts | {"sha256": content}))
    shutil.move(run, measured / "theirs" / "runs" / "20200101-000000-aaaaaa")
    until(lambda: there("show", "20200101-000000-aaaaaa").code == 0, "the run")
    assert "format      Script\n" in there("inspect", model).out
    ended = there("bench", model, "--iterations", 5, "--json")
    assert ended.code == 0, ended.err
    assert ended.document["model"]["sha256"] == content


def test_a_comparison_is_made_there_and_fails_a_gate(there, model, tmp_path):
    slow = script(tmp_path / "slow.json", latency_us=400).name
    ended = there("compare", model, slow, "--budget", 0.5, "--fail-if-slower", "50%", "--json")
    schemas.check("comparison", ended.document)
    assert (ended.code, ended.document["verdict"]) == (5, "slower")


def test_a_model_is_looked_into_and_vouched_for_there(there, model):
    seen = there("inspect", model, "--json")
    schemas.check("model", seen.document)
    assert seen.document["format"] == "scripted"
    assert "format      Script\n" in there("inspect", model).out
    granted = there("trust", model, "--reason", "ours", "--json")
    schemas.check("trust", granted.document)
    listed = there("trust", "--list", "--json").document["trusted"]
    assert [entry["reason"] for entry in listed] == ["ours"]
    assert there("trust", model, "--revoke").code == 0
    assert there("trust", "--list", "--json").document["trusted"] == []
    assert there("trust", model, "--revoke").code == 2


def test_a_failed_cell_and_a_missing_file_end_as_they_do_here(there, model, tmp_path):
    bad = script(tmp_path / "bad.json", faults=[fault("raise")]).name
    assert there("bench", bad, "--iterations", 5, "-q").code == 1
    missing = there("bench", "nowhere.onnx", "--json")
    assert (missing.code, missing.error_code) == (4, "MODEL_NOT_FOUND")


def test_a_notice_of_the_server_is_shown_here_once(there, tmp_path):
    inputs = [{"name": "x", "dtype": "float32", "shape": [2, 4]}]
    ended = there("bench", script(tmp_path / "m.json", inputs=inputs, load_ms=800), "--batch", "8")
    notice = (
        "the model's batch is fixed at 2; asked 8; "
        "to choose: export the model with an open batch dimension"
    )
    assert ended.err.splitlines().count(notice) == 1
    assert ended.code == 2
