"""The terminal is friendly: examples, corrections, documents that other programs read."""

import json
import subprocess
import sys
from typing import Any

import pytest
from typer.main import get_command

from modeldyno.cli.main import app
from tests import scripts

GROUP: Any = get_command(app)
COMMANDS = sorted(name for name, one in GROUP.commands.items() if not one.hidden)


@pytest.mark.parametrize("command", COMMANDS)
def test_ux_30_the_help_of_every_command_shows_examples(command, typed):
    ended = typed(command, "--help")
    assert ended.code == 0
    assert "Examples:" in ended.out
    assert f"modeldyno {command}" in ended.out


@pytest.mark.usefixtures("starts_processes")
def test_ux_30_a_document_goes_through_a_pipe_as_it_is(tmp_path):
    model = scripts.script(tmp_path / "m.json", latency_us=100)
    words = ["bench", str(model), "--iterations", "5", "--json", "--workspace", str(tmp_path / "w")]
    ended = subprocess.run(
        [sys.executable, "-m", "modeldyno", *words], capture_output=True, text=True, timeout=110
    )
    assert ended.returncode == 0, ended.stderr
    assert "\x1b" not in ended.stdout + ended.stderr
    assert json.loads(ended.stdout)["cells"][0]["status"] == "done"


@pytest.mark.usefixtures("starts_processes")
def test_ux_30_a_table_in_a_file_has_no_colours(tmp_path):
    model = scripts.script(tmp_path / "m.json", latency_us=100)
    words = ["bench", str(model), "--iterations", "5", "--workspace", str(tmp_path / "w")]
    with (tmp_path / "told.txt").open("w+") as told:
        subprocess.run(
            [sys.executable, "-m", "modeldyno", *words],
            stdout=told,
            stderr=subprocess.STDOUT,
            timeout=110,
            check=True,
        )
        told.seek(0)
        text = told.read()
    assert "ms/item" in text
    assert "\x1b" not in text


def test_a_file_in_the_place_of_a_command_is_told_how_to_be_measured(tmp_path, typed):
    model = scripts.script(tmp_path / "m.json", latency_us=100)
    ended = typed(str(model))
    assert ended.code == 2
    assert f"modeldyno bench {model}" in ended.err


def test_jobs_alone_lists_them(tmp_path, typed):
    ended = typed("jobs", "--workspace", str(tmp_path / "w"))
    assert (ended.code, ended.err) == (0, "There are no jobs yet\n")


def test_ux_30_a_typing_error_is_answered_with_what_was_meant(typed):
    ended = typed("benhc", "model.onnx")
    assert ended.code == 2
    assert "bench" in ended.err
