"""Node's stock Socket.IO client; `make node` installs what it needs."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parents[1] / "node"

needs_node = pytest.mark.skipif(
    shutil.which("node") is None, reason="there is no Node on this machine"
)


class Following:
    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """What it says, line by line, until it ends."""
        assert self.process.stdout
        for line in self.process.stdout:
            yield json.loads(line)


@contextmanager
def following(*words: str):
    assert (FOLDER / "node_modules").is_dir(), "run `make node`"
    command = ["node", str(FOLDER / "follow.js"), *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield Following(process)
        finally:
            process.kill()
