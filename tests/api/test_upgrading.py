"""A server whose database is of an earlier version answers while that is upgraded."""

import json
import signal
import socket
from contextlib import closing
from http.client import HTTPConnection
from typing import Any

import pytest

from modeldyno.api.server_address import Listening
from modeldyno.api.serving import serve
from modeldyno.settings import Settings
from modeldyno.store import schema
from modeldyno.store.upgrades import Step
from tests.fixtures.workspaces import unpack
from tests.terminal import serving

AHEAD = sorted(number for number in schema._list_revisions() if number > "0009")


class Enough(Exception):
    """The server would be up now."""


@pytest.fixture
def port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def ask(port, path, method="GET", **headers):
    with closing(HTTPConnection("127.0.0.1", port, timeout=60)) as connection:
        connection.request(method, path, headers=headers)
        reply: Any = connection.getresponse()
        reply.text = reply.read().decode()
        return reply


def test_each_step_of_an_upgrade_is_answered_with_503_and_what_to_do(tmp_path, port):
    steps: list[Step] = []
    replies = []

    def on_step(step: Step) -> None:
        steps.append(step)
        paths = ("/healthz", "/api/v1/projects", "/api/project/list", "/api/v1/benchmark/x", "/")
        replies.append({path: ask(port, path) for path in paths})
        replies[-1]["post"] = ask(port, "/api/v1/projects", "POST")
        replies[-1]["stranger"] = ask(port, "/api/v1/projects", Host="evil.example")
        replies[-1]["socket"] = ask(
            port,
            "/socket.io/?EIO=4&transport=websocket",
            **{"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13"},
            **{"Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ=="},
        )

    def is_up(*_: object) -> None:
        raise Enough

    with pytest.raises(Enough):
        serve(Settings.read(unpack(tmp_path)), Listening(port=port), is_up, on_step)
    assert [step.number for step in steps] == [*range(1, 2 + len(AHEAD))]
    assert {step.of for step in steps} == {1 + len(AHEAD)}
    assert "copy" in steps[0].what
    for step, given in zip(steps, replies, strict=True):
        assert (given["/healthz"].status, given["/healthz"].text) == (200, '{"status":"upgrading"}')
        for path in ("/api/v1/projects", "/api/project/list", "/api/v1/benchmark/x", "/", "post"):
            assert given[path].status == 503
            assert str(step) in given[path].text
            assert given[path].headers["retry-after"] == "1"
            assert given[path].headers["x-content-type-options"] == "nosniff"
        problem = json.loads(given["/api/v1/projects"].text)
        assert (problem["status"], problem["code"]) == (503, "UPGRADING")
        assert given["/"].headers["refresh"] == "1"  # a browser asks again by itself
        assert given["stranger"].status == 403
        assert given["socket"].status == 403


def test_a_database_that_needs_no_upgrade_reports_no_step(tmp_path, port):
    def on_step(step: Step) -> None:
        raise AssertionError(step)

    def is_up(*_: object) -> None:
        raise Enough

    for _ in ("made", "opened"):
        with pytest.raises(Enough):
            serve(Settings.read(tmp_path / "new"), Listening(port=port), is_up, on_step)


@pytest.mark.usefixtures("starts_processes")
def test_the_terminal_prints_the_steps_of_an_upgrade_and_everything_is_there_afterwards(tmp_path):
    with serving(unpack(tmp_path)) as server:
        projects = server.ask("/projects", Authorization=f"Bearer {server.token}")["items"]
        ended = server.stop(signal.SIGTERM)
    assert len(projects) > 1
    first, *steps = ended.err.splitlines()[: 2 + len(AHEAD)]
    assert first == "An earlier version wrote the database. It is upgraded; runs are kept"
    assert [line.partition(":")[0] for line in steps] == [
        f"  step {number} of {1 + len(AHEAD)}" for number in range(1, 2 + len(AHEAD))
    ]
