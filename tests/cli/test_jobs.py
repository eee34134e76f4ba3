"""``modeldyno jobs``: the queue of a server, from the terminal."""

import pytest

from tests import schemas
from tests.terminal import serving


@pytest.fixture(scope="module")
def workspace(tmp_path_factory):
    return tmp_path_factory.mktemp("jobs") / "workspace"


@pytest.fixture(scope="module")
def server(workspace, starts_processes):
    """Whose first job is the comparison of the demo."""
    with serving(workspace, "--demo") as server:
        yield server


@pytest.fixture
def ask(typed, workspace, server):
    return lambda *words: typed("jobs", *words, "--workspace", workspace)


def states(ended):
    assert ended.code == 0, ended.err
    schemas.check("jobs", ended.document)
    return {job["id"]: job["state"] for job in ended.document["jobs"]}


@pytest.mark.slow
def test_jobs_are_listed_cancelled_and_resumed_while_the_server_works(ask):
    listed = ask("ls")
    assert listed.out.splitlines()[0].split() == ["job", "state", "kind", "run", "queued", "about"]
    assert states(ask("ls", "--json", "-n", 100)).keys() >= {1}
    assert states(ask("cancel", 1, "--json")).keys() == {1}
    logged = ask("logs", 1, "--follow")  # ends when the job has
    assert logged.code == 0, logged.err
    assert states(ask("ls", "--json"))[1] == "cancelled"
    assert states(ask("resume", 1, "--json"))[1] in ("queued", "running")
    unknown = ask("cancel", 99, "--json")
    assert (unknown.code, unknown.error_code) == (4, "NOT_FOUND")


@pytest.mark.slow
def test_what_a_stopped_server_left_is_listed_and_the_other_commands_say_what_to_start(
    typed, server, workspace, monkeypatch
):
    """The first job was resumed a moment ago; no job runs without a server."""
    monkeypatch.setenv("MODELDYNO_WORKSPACE", str(workspace))
    assert server.stop().code == 0
    left = states(typed("jobs", "ls", "--json"))
    assert left.keys() == {1, 2, 3}
    assert left[1] in ("queued", "interrupted")
    assert "running" not in left.values()
    for words in (("logs", 1), ("cancel", 1, "--json"), ("resume", 1)):
        ended = typed("jobs", *words)
        assert ended.code == 3
        assert "modeldyno serve" in ended.err


def test_a_workspace_without_jobs_has_none(typed, tmp_path):
    assert typed("jobs", "ls", "--workspace", tmp_path).err == "There are no jobs yet\n"
    assert [*tmp_path.iterdir()] == []
