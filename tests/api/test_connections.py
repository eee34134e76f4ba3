"""Connections of strangers, by the hundred, against a real server: the owner always gets in."""

from __future__ import annotations

import socket
from contextlib import ExitStack
from http.client import HTTPConnection

import pytest
import socketio

from modeldyno.api import connections
from tests.api.v1.server import serving

SOON_S = 30.0
MOST = 100  # and many more come


@pytest.fixture
def served(tmp_path, monkeypatch, starts_processes):
    monkeypatch.setattr(connections, "MOST_STRANGERS", MOST, raising=False)
    with serving(tmp_path / "workspace", http=connections.ImpatientHttp) as found:
        yield found


@pytest.mark.parametrize("begun", [b"", b"GET / HTTP/1.1\r\nHost: x"], ids=["silent", "slow"])
def test_idle_strangers_do_not_keep_the_owner_out(served, begun):
    with ExitStack() as links:
        clients = []
        for transport in ("websocket", "polling"):
            client = links.enter_context(socketio.SimpleClient(reconnection=False))
            client.connect(
                served.url,
                auth={"token": served.token},
                namespace="/v1",
                transports=[transport],
                wait_timeout=SOON_S,
            )
            clients.append(client)
        strangers = []
        for number in range(3 * MOST):
            stranger = socket.create_connection(("127.0.0.1", served.port), SOON_S)
            strangers.append(links.enter_context(stranger))
            stranger.sendall(begun)
            if number % 20 == 0:
                assert served.get("projects").status == 200
        assert strangers[0].recv(1) == b""  # the oldest made room
        for client in clients:
            assert client.call("ping", {}, timeout=SOON_S)["ok"]
            assert client.call("subscribe", {"project_id": None}, timeout=SOON_S)["ok"]
        served.project()
        for client in clients:
            assert client.receive(timeout=SOON_S)[1]["kind"] == "project.created"


def test_a_connection_of_somebody_known_is_not_closed_for_strangers(served):
    with ExitStack() as links:
        owner = HTTPConnection("127.0.0.1", served.port, timeout=SOON_S)
        links.callback(owner.close)
        said = {"Authorization": f"Bearer {served.token}"}
        owner.request("GET", "/api/v1/projects", headers=said)
        assert owner.getresponse().read()
        link = owner.sock
        for _ in range(2 * MOST):
            links.enter_context(socket.create_connection(("127.0.0.1", served.port), SOON_S))
        assert served.get("projects").status == 200  # all of those before have been seen
        owner.request("GET", "/api/v1/projects", headers=said)
        assert owner.getresponse().status == 200
        assert owner.sock is link  # the same connection


def test_a_stranger_that_is_being_answered_is_not_closed(served):
    """Only idle ones give way: this one waits for news of Socket.IO, and gets them."""
    with ExitStack() as links:
        client = links.enter_context(socketio.SimpleClient(reconnection=False))
        client.connect(
            served.url, auth={"token": served.token}, namespace="/v1", transports=["polling"]
        )
        assert client.call("subscribe", {"project_id": None}, timeout=SOON_S)["ok"]
        for _ in range(2 * MOST):
            links.enter_context(socket.create_connection(("127.0.0.1", served.port), SOON_S))
        served.project()
        assert client.receive(timeout=SOON_S)[1]["kind"] == "project.created"
