"""``modeldyno examples``: what there is to try, and one of them on the disk."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests import schemas
from tests.model_server import File, model_server
from tests.terminal import PATIENCE_S, Ended, modeldyno

ROOT = Path(__file__).parents[2]
MODEL = b"a frozen graph" * 50_000


@pytest.fixture
def ask(typed, tmp_path):
    return lambda *words: typed("examples", *words, "--workspace", tmp_path / "workspace")


def test_examples_are_listed_with_what_can_be_had(ask, tmp_path):
    ended = ask()
    head, *rows = ended.out.splitlines()
    assert (ended.code, len(rows)) == (0, 32)
    assert head.split() == ["example", "framework", "domain", "size", "runs", "here", "available"]
    assert rows[4].split()[:2] == ["onnx-resnet50", "onnx"]
    assert rows[4].split()[-2:] == ["yes", "yes"]
    assert rows[-1].rstrip().endswith("no: downloads are switched off")
    assert not (tmp_path / "workspace").exists()


def test_the_list_is_what_its_schema_promises(ask):
    found = ask("--json").document
    schemas.check("examples", found)
    first = found["examples"][0]
    assert (first["slug"], first["available"], first["url"]) == ("onnx-alexnet", True, None)
    assert found["examples"][-1]["sha256"].startswith("b5ff24a4")
    assert found["fetched"] is None


@pytest.mark.usefixtures("starts_processes")
def test_an_example_is_inspected_and_measured_from_where_it_was_put(tmp_path):
    workspace = ("--workspace", tmp_path / "workspace")
    ended = modeldyno("examples", "get", "onnx-squeezenet", *workspace)
    path = Path(ended.out.strip())
    assert (ended.code, path.is_relative_to(tmp_path)) == (0, True)
    assert path.name == "light_squeezenet.onnx"  # no hash
    assert "useless for accuracy" in ended.err
    assert modeldyno("inspect", path, "--json").document["inputs"][0]["name"] == "data_0"
    measured = modeldyno("bench", path, "--iterations", 5, "--json", *workspace).document
    assert [cell["status"] for cell in measured["cells"]] == ["done"]


def test_an_example_is_copied_where_one_wants_it_and_replaces_nothing(ask, tmp_path):
    target = tmp_path / "net.onnx"
    ended = ask("get", "onnx-alexnet", "--to", target, "--json")
    schemas.check("examples", ended.document)
    assert ended.document["fetched"]["path"] == str(target)
    content = target.read_bytes()
    assert len(content) == ended.document["fetched"]["size_bytes"]
    again = ask("get", "onnx-vgg19", "--to", target, "--json")
    assert (again.code, again.error_code) == (2, "BAD_VALUE")
    assert target.read_bytes() == content
    into = ask("get", "onnx-vgg19", "--to", tmp_path, "--quiet")
    assert (into.out, into.err) == (f"{tmp_path / 'light_vgg19.onnx'}\n", "")
    assert ask("get", "onnx-vgg19", "--to", tmp_path / "none" / "x.onnx").code == 1


@pytest.mark.parametrize(
    ("name", "code", "error"),
    [
        ("onnx-resnet5", 4, "EXAMPLE_NOT_FOUND"),
        ("https://models.test/net.pb", 4, "EXAMPLE_NOT_FOUND"),
        ("tensorflow-resnet101", 2, "DOWNLOADS_OFF"),
    ],
)
def test_what_cannot_be_had_says_why_and_what_to_do(ask, monkeypatch, name, code, error):
    monkeypatch.delenv("MODELDYNO_ALLOW_DOWNLOADS", raising=False)
    ended = ask("get", name, "--json")
    assert (ended.code, ended.error_code) == (code, error)
    assert "help: " in ended.err


# ---------------------------------------------------------------- downloads


@pytest.fixture
def server():
    with model_server() as found:
        found.files["/net.pb"] = File(MODEL)
        yield found


@pytest.fixture
def start(server, tmp_path):
    running = []

    def started(*words):
        command = [sys.executable, "-m", "tests.cli.downloading", server.port, "examples", *words]
        command += ["--workspace", tmp_path / "workspace"]
        process = subprocess.Popen(
            [*map(str, command)],
            cwd=ROOT,
            env=dict(os.environ) | {"MODELDYNO_ALLOW_DOWNLOADS": ""},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        running.append(process)
        return process

    yield started
    for process in running:
        process.kill()
        process.communicate()


def ended(process):
    out, err = process.communicate(timeout=PATIENCE_S)
    return Ended(process.returncode, out, err)


@pytest.mark.usefixtures("starts_processes")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGKILL, -9)])
def test_a_download_that_was_stopped_or_killed_goes_on_where_it_was(
    start, server, tmp_path, number, code
):
    server.files["/net.pb"] = File(MODEL, stalls=[500_000])
    process = start("get", "net", "--allow-downloads")
    assert server.stalled.wait(PATIENCE_S)
    part = tmp_path / "workspace" / "downloads" / "net.part"
    while not (part.exists() and part.stat().st_size >= 400_000):
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(number)
    stopped = ended(process)
    assert (stopped.code, stopped.out) == (code, "")
    assert ("Run the same command to continue" in stopped.err) == (number == signal.SIGINT)
    kept = part.stat().st_size
    again = ended(start("get", "net", "--allow-downloads"))
    assert Path(again.out.strip()).read_bytes() == MODEL
    assert [asked.range for asked in server.asked] == [None, f"bytes={kept}-"]
    assert "no installed engine runs it" in again.err


@pytest.mark.usefixtures("starts_processes")
def test_downloads_end_as_the_table_of_exit_codes_says(start, server):
    off = ended(start("get", "net", "--json"))
    assert (off.code, off.error_code, server.asked) == (2, "DOWNLOADS_OFF", [])
    other = ended(start("get", "other", "--allow-downloads", "--json"))
    assert (other.code, other.error_code) == (8, "DOWNLOAD_REFUSED")
    server.files["/net.pb"] = File(b"gone", status=410)
    gone = ended(start("get", "net", "--allow-downloads", "--json"))
    assert (gone.code, gone.error_code) == (1, "DOWNLOAD_FAILED")
