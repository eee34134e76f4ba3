"""``modeldyno token``."""

import stat
import urllib.error

import pytest

from tests.terminal import serving


def test_a_workspace_that_has_none_gets_one(typed, tmp_path):
    first = typed("token", "--workspace", tmp_path)
    assert (first.code, len(first.out)) == (0, 44)
    assert typed("token", "--workspace", tmp_path).out == first.out


@pytest.mark.usefixtures("starts_processes")
def test_it_is_the_servers_and_after_rotating_only_the_new_one_counts(typed, tmp_path):
    workspace = tmp_path / "workspace"
    with serving(workspace) as server:
        old = server.token
        assert typed("token", "--workspace", workspace).out == f"{old}\n"
        assert server.get("/projects")["items"] == []
        server.token = typed("token", "--rotate", "--workspace", workspace).out.strip()
        assert server.token != old
        assert server.get("/projects")["items"] == []
        server.token = old
        with pytest.raises(urllib.error.HTTPError, match="401"):
            server.get("/projects")
    assert stat.S_IMODE((workspace / "token").stat().st_mode) == 0o600
