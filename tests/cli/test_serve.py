"""``modeldyno serve``: what it says, who gets in, and how it ends."""

import json
import os
import signal
import socket
import urllib.error

import pytest

from modeldyno.core.hosts import tool_version
from tests.terminal import Served, modeldyno, serving

pytestmark = pytest.mark.usefixtures("starts_processes")


@pytest.fixture
def workspace(tmp_path):
    return tmp_path / "workspace"


def is_refused(server: Served, **headers: str) -> bool:
    try:
        server.ask("/projects", **headers)
    except urllib.error.HTTPError as error:
        return error.code == 401
    return False


def test_it_says_where_it_is_and_how_to_get_in_but_not_the_token(workspace):
    with serving(workspace) as server:
        assert is_refused(server)
        assert is_refused(server, Authorization="Bearer wrong")
        assert not is_refused(server, Authorization=f"Bearer {server.token}")
        ended = server.stop(signal.SIGTERM)
    first, *rest = ended.err.splitlines()
    assert first == f"Modeldyno {tool_version()}   workspace {workspace}   0 projects"
    assert rest == [
        f"  Open      {server.url}/   (run `modeldyno open --workspace {workspace}` to sign in)",
        f"  API       {server.url}/docs",
        "  Listening on this machine only. Ctrl-C stops; running jobs are kept and can be resumed.",
        "Stopped. Waiting and running jobs are kept",
    ]
    assert (ended.code, ended.out) == (0, "")


def test_a_script_reads_one_line_and_a_second_server_hears_of_the_first(typed, workspace):
    with serving(workspace, "--json") as server:
        second = typed("serve", "--json", "--port", 0, "--workspace", workspace)
        ended = server.stop(signal.SIGHUP)
    told = json.loads(ended.out)
    assert told == {"url": server.url, "workspace": str(workspace), "pid": server.pid}
    assert ended.code == 0
    assert (second.code, second.error_code) == (2, "SERVER_RUNNING")
    assert f"process {server.pid}, at {server.url}" in second.err


def test_a_port_that_is_taken_gives_way_and_without_a_token_everybody_here_gets_in(workspace):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with serving(workspace, "--port", port, "--no-token") as server:
            assert server.ask("/projects")["items"] == []
            ended = server.stop(signal.SIGINT)
    assert ended.code == 0
    assert int(server.url.rpartition(":")[2]) > port
    assert f"Port {port} is taken; this is the next free one" in ended.err
    assert "(no token)" in ended.err


def test_defect_22_another_address_works_with_the_token_and_is_warned_about(typed, workspace):
    refused = typed("serve", "--host", "0.0.0.0", "--no-token", "--workspace", workspace)
    assert refused.code == 2
    assert "needs its token" in refused.err
    with serving(
        workspace, "--host", "0.0.0.0", "--name", "bench.example", "--show-token"
    ) as server:
        assert is_refused(server)
        port = server.url.rpartition(":")[2]
        key = {"Authorization": f"Bearer {server.token}"}
        for name in ("127.0.0.1", "bench.example", socket.gethostname().lower()):
            assert server.ask("/projects", Host=f"{name}:{port}", **key)["items"] == []
        with pytest.raises(urllib.error.HTTPError):
            server.ask("/projects", Host=f"evil.example:{port}", **key)
        told = server.stop().err
    assert "! other machines can reach this address" in told
    assert "this machine only" not in told
    assert f"  Token     {server.token}\n" in told


def test_without_the_packages_it_says_how_to_get_them(workspace, tmp_path):
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.modules['fastapi'] = None\n")
    path = os.pathsep.join((str(tmp_path), os.environ.get("PYTHONPATH", "")))
    ended = modeldyno("serve", "--json", "--workspace", workspace, PYTHONPATH=path)
    assert (ended.code, ended.error_code) == (2, "PACKAGE_MISSING")
    assert "pip install 'modeldyno[server]'" in ended.err


def test_a_models_root_must_be_a_folder(typed, workspace, tmp_path):
    ended = typed("serve", "--models-root", tmp_path / "nowhere", "--workspace", workspace)
    assert ended.code == 2
    assert "is not a folder" in ended.err


@pytest.mark.parametrize("command", ["serve", "token", "demo", "selftest"])
def test_what_works_here_alone_refuses_another_server(typed, command):
    ended = typed(command, "--server", "http://127.0.0.1:5000")
    assert ended.code == 2
    assert "only on this machine" in ended.err
