"""Who listens while the API is used: python-socketio, and Node's stock client beside it."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import socketio

from modeldyno.client.io import make_ordered_client
from tests.api.node import FOLDER

PATIENCE_S = 90.0  # other tests may hold the cores

Heard = tuple[str, dict[str, Any]]


class Ears:
    """Everything that was pushed since it came, in order."""

    def __init__(self, url: str, token: str) -> None:
        self._client = make_ordered_client(socketio)(reconnection=False, handle_sigint=False)
        # As the stock GUI of INC Bench would, if it had to say who it is.
        self._client.connect(url, headers={"Authorization": token}, wait_timeout=PATIENCE_S)
        self.heard: list[Heard] = []

    def until(self, is_last: Callable[[str, dict[str, Any]], bool]) -> list[Heard]:
        """What comes from now on, up to the one that is waited for."""
        began = len(self.heard)
        while True:
            name, payload = self._client.receive(timeout=PATIENCE_S)
            self.heard.append((name, payload))
            if is_last(name, payload):
                return self.heard[began:]

    def rest(self, quiet_s: float = 0.5) -> list[Heard]:
        """What still comes before it is quiet."""
        began = len(self.heard)
        try:
            while True:
                name, payload = self._client.receive(timeout=quiet_s)
                self.heard.append((name, payload))
        except socketio.exceptions.TimeoutError:
            return self.heard[began:]

    def close(self) -> None:
        self._client.disconnect()


@contextmanager
def ears(url: str, token: str) -> Iterator[Ears]:
    found = Ears(url, token)
    try:
        yield found
    finally:
        found.close()


class NodeEars:
    """The same, as Node's stock client hears it; a file between us, for pipes fill up."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def heard(self, count: int) -> list[Heard]:
        """The first so many."""
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            lines = self._file.read_text().splitlines()
            if len(lines) > count and self._file.read_text().endswith("\n"):
                break
            time.sleep(0.02)
        return [(line[0], line[1]) for line in map(json.loads, lines[1:]) if len(line) == 2]


@contextmanager
def node_ears(url: str, token: str, file: Path) -> Iterator[NodeEars]:
    assert (FOLDER / "node_modules").is_dir(), "run `make node`"
    with file.open("w") as out:
        process = subprocess.Popen(["node", str(FOLDER / "listen.js"), url, token], stdout=out)
    try:
        found = NodeEars(file)
        found.heard(0)  # it listens
        yield found
    finally:
        process.kill()
        process.wait()
