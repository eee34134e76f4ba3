"""What people and programs see of the frozen workspace stays as it was recorded.

    .venv/bin/python -m pytest tests/recording --record      # write the recording anew

The recording holds one file for each group of surfaces, so that a change can be read as a diff.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from pathlib import Path

import pytest
import sqlalchemy

from tests.api.live import live
from tests.databases import new_postgresql, postgresql_server  # noqa: F401 - fixtures
from tests.fixtures.workspaces import rebuild, restore_postgresql, unpack
from tests.recording import live_runs, surfaces, writes

EXPECTED = Path(__file__).with_name("expected")
MARK = "\f=== "
MOST_DIFFERENCES = 5


@pytest.fixture
def workspace(tmp_path):
    return unpack(tmp_path)


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    workspace = unpack(tmp_path_factory.mktemp("served"))
    rebuild(workspace)
    with live(workspace) as server:
        yield server, workspace


@pytest.fixture(scope="module")
def served_from_postgresql(tmp_path_factory, new_postgresql):  # noqa: F811 - a fixture
    workspace = unpack(tmp_path_factory.mktemp("postgresql"), is_sqlite=False)
    url = new_postgresql()
    restore_postgresql(workspace, url)
    rebuild(workspace, url)
    with live(workspace, database_url=url) as server:
        yield server, workspace


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    return write_everything(unpack(tmp_path_factory.mktemp("written")))


def write_everything(workspace: Path, **settings: str) -> writes.Recorder:
    """``settings`` are further fields of Settings."""
    rebuild(workspace, settings.get("database_url"))
    roots = (workspace.parent / "models",)
    with (
        live(workspace, models_roots=roots, **settings) as server,
        writes.listening(server) as listeners,
    ):
        return writes.record(server, workspace, listeners)


@pytest.mark.slow
def test_terminal(workspace, monkeypatch, request):
    check("terminal", surfaces.terminal(workspace, monkeypatch), request)


@pytest.mark.usefixtures("starts_processes")
def test_rest(served, request):
    check("rest", surfaces.rest(*served), request)


def test_reference_api(served, request):
    check("reference", surfaces.reference(*served), request)


def test_events(served, request):
    check("events", surfaces.events(*served), request)


@pytest.mark.usefixtures("starts_processes")
def test_writes(written, request):
    check("writes", written.answers, request)


@pytest.mark.usefixtures("starts_processes")
def test_frames(written, request):
    check("frames", written.frames, request)


@pytest.mark.usefixtures("starts_processes")
def test_live_runs(workspace, monkeypatch, request):
    shown = [*live_runs.terminal(workspace, monkeypatch)]
    live_runs.script_figures(monkeypatch, workspace.parent / "cores")
    with live(workspace) as server, writes.listening(server) as listeners:
        shown += live_runs.on_server(server, workspace, listeners)
    check("live", shown, request)


def test_config_files(workspace, request):
    check("config", surfaces.files(workspace), request)


def test_postgresql_shows_the_same(served_from_postgresql):
    shown = dict(surfaces.rest(*served_from_postgresql, only_rows=True))
    recorded = {name: text for name, text in read("rest").items() if name in shown}
    assert not differences(recorded, shown)
    assert not differences(read("reference"), dict(surfaces.reference(*served_from_postgresql)))


def test_postgresql_is_written_to_the_same_way(tmp_path, new_postgresql):  # noqa: F811 - a fixture
    workspace = unpack(tmp_path, is_sqlite=False)
    url = new_postgresql()
    restore_postgresql(workspace, url)
    use_up_number(url, "projects", 4)  # of a deleted project, which the dump does not hold
    written = write_everything(workspace, database_url=url)
    assert not differences(read("writes"), dict(written.answers))
    assert not differences(unnumbered(read("frames")), unnumbered(dict(written.frames)))


def unnumbered(frames: dict[str, str]) -> dict[str, str]:
    """PostgreSQL does not use a number again that a refused change had taken."""
    return {name: re.sub(r'"number": \d+', "", text) for name, text in frames.items()}


def use_up_number(url: str, table: str, number: int) -> None:
    engine = sqlalchemy.create_engine(url)
    with engine.begin() as connection:
        connection.execute(sqlalchemy.text(f"SELECT setval('{table}_id_seq', {number})"))
    engine.dispose()


# ---------------------------------------------------------------- recordings


def check(group: str, shown: Iterable[surfaces.Surface], request: pytest.FixtureRequest) -> None:
    texts = dict(shown)
    if request.config.getoption("--record"):
        write(group, without_copies(texts.items()))
    assert not differences(read(group), texts)


def without_copies(shown: Iterable[surfaces.Surface]) -> dict[str, str]:
    """A text that stood before is named instead of repeated."""
    first_names: dict[str, str] = {}
    texts = {}
    for name, text in shown:
        first = first_names.setdefault(text, name)
        texts[name] = text if first == name else f"As {first}.\n"
    return texts


def write(group: str, texts: dict[str, str]) -> None:
    EXPECTED.mkdir(exist_ok=True)
    parts = (f"{MARK}{name}\n{text.rstrip()}\n" for name, text in texts.items())
    path(group).write_bytes("".join(parts).encode())


def read(group: str) -> dict[str, str]:
    parts = path(group).read_bytes().decode().split(MARK)[1:]
    texts = dict(part.split("\n", 1) for part in parts)
    return {
        name: texts.get(text[3:-2], text) if text.startswith("As ") else text
        for name, text in texts.items()
    }


def path(group: str) -> Path:
    return EXPECTED / f"{group}.txt"


def differences(recorded: dict[str, str], shown: dict[str, str]) -> str:
    """The first few, as a person would want to read them; nothing when all is the same."""
    found = []
    for name in dict.fromkeys((*recorded, *shown)):
        before, after = recorded.get(name, ""), shown.get(name, "").rstrip() + "\n"
        if before != after:
            lines = (before.splitlines(), after.splitlines(), name, name)
            found.append("\n".join(difflib.unified_diff(*lines, lineterm="", n=1)))
    return "\n".join(found[:MOST_DIFFERENCES])
