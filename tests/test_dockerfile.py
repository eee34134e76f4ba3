"""The image is not built here: what can be said of its recipe without Docker."""

from __future__ import annotations

import fnmatch
import json
import re
import tomllib
from pathlib import Path

import typer

from modeldyno.cli import main

ROOT = Path(__file__).parents[1]
RECIPE = (ROOT / "Dockerfile").read_text()
LINES = [
    line
    for line in re.sub(r"\\\n\s*", "", RECIPE).splitlines()
    if line and not line.startswith("#")
]


def instruction(name):
    return [line.removeprefix(name).strip() for line in LINES if line.startswith(f"{name} ")]


def test_what_is_copied_is_there_and_is_sent_to_the_builder():
    allowed = [
        line.removeprefix("!")
        for line in (ROOT / ".dockerignore").read_text().splitlines()
        if line.startswith("!")
    ]
    copied = [
        word
        for line in instruction("COPY")
        if not line.startswith("--from")
        for word in line.split()[:-1]
    ]
    assert {"pyproject.toml", "src"} <= set(copied)
    assert [word for word in copied if not (ROOT / word).exists()] == []
    assert [w for w in copied if not any(fnmatch.fnmatch(w, one) for one in allowed)] == []


def test_extras_that_it_installs_exist():
    known = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    pages = RECIPE + (ROOT / "docs" / "devices.md").read_text()
    asked = {name for said in re.findall(r"EXTRAS=([\w,]+)", pages) for name in said.split(",")}
    assert "server" in asked
    assert asked <= known["optional-dependencies"].keys()


def test_it_starts_the_server_for_others_to_reach_and_never_without_a_token():
    (entry,) = instruction("ENTRYPOINT")
    command = json.loads(entry)
    assert command[:2] == ["modeldyno", "serve"]
    assert "--no-token" not in command
    group = typer.main.get_command(main.app)
    options = {name for one in group.commands["serve"].params for name in one.opts}  # type: ignore[attr-defined]
    assert {word for word in command if word.startswith("--")} <= options


def test_it_runs_as_nobody_in_particular_and_says_how_it_is():
    users = instruction("USER")
    assert users[-1:] == ["10001:10001"]
    (health,) = instruction("HEALTHCHECK")
    (program,) = re.findall(r"CMD (\[.*\])", health)
    compile(json.loads(program)[2], "healthcheck", "exec")
    assert instruction("VOLUME") == ["/workspace"]
