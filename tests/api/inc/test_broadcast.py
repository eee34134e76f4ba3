"""The default namespace: every event to every client that may listen."""

import time

import pytest
import socketio

from modeldyno.api.inc.broadcast import Broadcast
from tests.api.live import live

SOON_S = 10.0


@pytest.fixture
def emit(monkeypatch):
    """Emits through the server's own broadcast."""
    made = []

    class Caught(Broadcast):
        def __init__(self, *given):
            super().__init__(*given)
            made.append(self)

    monkeypatch.setattr("modeldyno.api.inc.broadcast.Broadcast", Caught)
    return lambda *event: made[0].emit(*event)


@pytest.fixture
def server(tmp_path, emit):
    with live(tmp_path / "w") as server:
        yield server


def test_what_is_said_reaches_every_client_in_its_order(server, emit):
    with socketio.SimpleClient() as one, socketio.SimpleClient() as other:
        for client in (one, other):
            client.connect(server.url, headers={"Authorization": server.token})
        for number in range(3):
            emit("benchmark_start", "success", {"request_id": number})
        for client in (one, other):
            heard = [client.receive(timeout=SOON_S) for _ in range(3)]
            bodies = [{"status": "success", "data": {"request_id": n}} for n in range(3)]
            assert heard == [["benchmark_start", body] for body in bodies]


def test_defect_20_who_has_no_token_hears_nothing(server, emit):
    with socketio.SimpleClient() as client, pytest.raises(socketio.exceptions.ConnectionError):
        client.connect(server.url, auth={"token": "wrong"})
    with socketio.SimpleClient() as client:  # the control
        client.connect(server.url, auth={"token": server.token})
        emit("benchmark_start", "success", {})
        assert client.receive(timeout=SOON_S)[0] == "benchmark_start"


def test_a_new_token_ends_the_connection(server):
    with socketio.SimpleClient(reconnection=False) as client:
        client.connect(server.url, auth={"token": server.token})
        server.token_file.rotate()
        end = time.monotonic() + SOON_S
        while client.connected:
            assert time.monotonic() < end
            time.sleep(0.02)
